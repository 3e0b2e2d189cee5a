package org.perfhive;

/** The state of a {@link MeasurementContext}. The states "at work" are seen by other threads only. */
public enum State {
    /** The context is being made. */
    INITIALIZING,
    /** Structure and values are readable; {@code prepare} is next. */
    INITIALIZED,
    /** At work on {@code prepare}. */
    PREPARING,
    /** Ready to {@code sample}. */
    PREPARED,
    /** At work on {@code sample}. */
    SAMPLING,
    /** A sample is taken; {@code decode} is next. */
    SAMPLED,
    /** At work on {@code decode}. */
    DECODING
}

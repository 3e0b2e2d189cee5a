package org.perfhive.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import jdk.jfr.Timestamp;

/** A record of an experiment: one of its events, which was measured, with the times of the measurement. */
@Name("org.perfhive.Record")
@Label("perfhive record")
@Description("An event of an experiment that was measured")
@Category("perfhive")
@StackTrace(false)
final class RecordEvent extends Event {
    @Label("Event")
    String event;

    @Label("Kind")
    String kind;

    @Label("Event source")
    String source;

    @Label("ID of the Java thread")
    long thread;

    @Label("Time of the event")
    @Timestamp(Timestamp.MILLISECONDS_SINCE_EPOCH)
    long at;

    @Label("Time of the event in nanoseconds of its monotonic clock")
    long monotonic;

    @Label("From the event to the end of its sample")
    @Timespan
    long delay;

    @Label("Duration of the sample")
    @Timespan
    long sample;
}

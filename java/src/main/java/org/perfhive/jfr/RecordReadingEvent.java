package org.perfhive.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timestamp;

/** The value of a sensor at an event of an experiment. */
@Name("org.perfhive.RecordReading")
@Label("perfhive record's reading")
@Description("The value of a sensor at an event of an experiment")
@Category("perfhive")
@StackTrace(false)
final class RecordReadingEvent extends Event {
    @Label("Event")
    String event;

    @Label("Time of the event")
    @Timestamp(Timestamp.MILLISECONDS_SINCE_EPOCH)
    long at;

    @Label("Time of the event in nanoseconds of its monotonic clock")
    long monotonic;

    @Label("Sensor")
    String sensor;

    @Label("Value")
    double value;

    @Label("Unit")
    String unit;
}

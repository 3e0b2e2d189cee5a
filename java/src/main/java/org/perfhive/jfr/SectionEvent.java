package org.perfhive.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;
import jdk.jfr.Timestamp;

/** A section of the program, from a start to its end. */
@Name("org.perfhive.Section")
@Label("perfhive section")
@Description("A section of the program, from a start to its end")
@Category("perfhive")
@StackTrace(false)
final class SectionEvent extends Event {
    @Label("Section")
    String section;

    @Label("ID of the Java thread")
    long thread;

    @Label("Start")
    @Timestamp(Timestamp.MILLISECONDS_SINCE_EPOCH)
    long at;

    @Label("Start in nanoseconds of the events' monotonic clock")
    long monotonic;

    @Label("Duration")
    @Timespan
    long sectionDuration;

    @Label("Processor time of the thread")
    @Timespan
    long threadTime;

    @Label("Calls in it")
    long calls;
}

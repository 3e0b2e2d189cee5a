package org.perfhive.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** A sample of a measurement context. */
@Name("org.perfhive.Sample")
@Label("perfhive sample")
@Description("A sample of a measurement context")
@Category("perfhive")
@StackTrace(false)
final class SampleEvent extends Event {
    @Label("Duration of the sample")
    @Timespan
    long sampleDuration;

    @Label("Age of the oldest data")
    @Timespan
    long age;

    @Label("Readings")
    int readings;

    @Label("Readings without a value")
    int withoutValue;

    @Label("Anomalies")
    String anomalies;
}

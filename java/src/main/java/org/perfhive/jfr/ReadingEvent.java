package org.perfhive.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** The value of a sensor in a sample. */
@Name("org.perfhive.Reading")
@Label("perfhive reading")
@Description("The value of a sensor in a sample")
@Category("perfhive")
@StackTrace(false)
final class ReadingEvent extends Event {
    @Label("Sensor")
    String sensor;

    @Label("Data source")
    String source;

    @Label("Group")
    String group;

    @Label("Name")
    String name;

    @Label("Instance")
    String instance;

    @Label("Value")
    double value;

    @Label("Unit")
    String unit;
}

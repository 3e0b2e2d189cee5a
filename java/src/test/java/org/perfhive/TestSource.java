package org.perfhive;

import java.util.List;

/** A data source with one probe for all of its sensors. */
record TestSource(String name, List<Sensor> sensors, Probe all) implements DataSource {
    @Override
    public Probe probe(Sensor sensor) {
        return all;
    }
}

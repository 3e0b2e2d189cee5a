package org.perfhive.jmx;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanException;
import javax.management.MBeanInfo;
import javax.management.MBeanRegistrationException;
import javax.management.MBeanServer;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import javax.management.ReflectionException;
import org.perfhive.DataSources;
import org.perfhive.MeasurementContext;
import org.perfhive.MeasurementOptions;
import org.perfhive.NoValue;
import org.perfhive.PerfhiveException;
import org.perfhive.Readings;
import org.perfhive.Sensor;
import org.perfhive.SensorName;
import org.perfhive.SensorReading;
import org.perfhive.SensorSlot;
import org.perfhive.ValueHandle;
import org.perfhive.ValueType;

/**
 * Shows chosen sensors as MBeans. Each group and instance has a bean with an attribute for each sensor;
 * its name is {@code org.perfhive:source=S,group=G}, or that with {@code ,instance=I} behind it. The
 * parts are quoted ({@link ObjectName#quote}). The instances are those that existed when the beans were
 * made.
 *
 * <p>A call that reads one or several attributes takes one sample of all sensors if the last sample has
 * reached the greatest age; rates are then over the time since that sample, or for the first sample since
 * the beans were made. Reading an attribute without a value, or a sample that fails, throws an
 * {@link MBeanException} with the reason; a call that reads several attributes leaves such attributes out.
 */
public final class SensorBeans implements AutoCloseable {
    private final MBeanServer server;
    private final MeasurementContext context;
    private final Duration maxAge;
    private final List<ObjectName> names = new ArrayList<>();
    /** The readings of the last sample; empty before the first one, since the baseline has no rates. */
    private Optional<Readings> readings = Optional.empty();
    private long sampled;
    /** The places of the last sample's readings; filled only when a reading is not at the place that it had before. */
    private final Map<SensorName, Integer> places = new HashMap<>();

    private SensorBeans(MBeanServer server, MeasurementContext context, Duration maxAge) {
        this.server = server;
        this.context = context;
        this.maxAge = maxAge;
    }

    /**
     * Registers the beans of sensors.
     *
     * @param server the server, such as the platform's
     * @param sources the data sources, which must stay open
     * @param sensors the sensors; a name with {@code #*} shows each instance
     * @param maxAge the age from which on the last sample is replaced by a new one
     * @return the registration; closing it unregisters the beans
     * @throws JMException if a bean cannot be registered, as when its name is registered already
     * @throws org.perfhive.PerfhiveException if a name means no sensor, or a source fails
     */
    public static SensorBeans register(
            MBeanServer server, DataSources sources, List<SensorName> sensors, Duration maxAge)
            throws JMException {
        Objects.requireNonNull(server);
        if (maxAge.isNegative()) {
            throw new IllegalArgumentException("a negative time");
        }
        MeasurementContext context =
                MeasurementContext.of(sources, sensors, MeasurementOptions.DEFAULT);
        SensorBeans beans = new SensorBeans(server, context, maxAge);
        try {
            beans.registerAll();
        } catch (JMException | RuntimeException error) {
            beans.close();
            throw error;
        }
        return beans;
    }

    private void registerAll() throws JMException {
        Map<ObjectName, Bean> beans = new LinkedHashMap<>();
        Readings baseline = context.values();
        for (int place = 0; place < baseline.size(); place++) {
            SensorSlot slot = baseline.slot(place);
            beans.computeIfAbsent(nameOf(slot), name -> new Bean())
                    .attributes
                    .putIfAbsent(slot.sensor().name().sensor(), new Shown(slot, place));
        }
        for (Map.Entry<ObjectName, Bean> bean : beans.entrySet()) {
            server.registerMBean(bean.getValue(), bean.getKey());
            names.add(bean.getKey());
        }
    }

    /**
     * The name of the bean of a slot.
     *
     * @param slot a sensor and its instance
     * @return the name
     */
    public static ObjectName nameOf(SensorSlot slot) {
        SensorName name = slot.name();
        String text = "org.perfhive:source=" + ObjectName.quote(name.source())
                + ",group=" + ObjectName.quote(name.group());
        Optional<String> instance = name.instance().map(ObjectName::quote);
        try {
            return new ObjectName(instance.map(part -> text + ",instance=" + part).orElse(text));
        } catch (MalformedObjectNameException error) {
            throw new IllegalStateException("quoted parts are always well-formed", error);
        }
    }

    /**
     * The names of the beans.
     *
     * @return the names
     */
    public synchronized List<ObjectName> names() {
        return List.copyOf(names);
    }

    /** The sample for a call. A failure is thrown as an exception that clients without perfhive's classes can read. */
    private Readings sample() throws MBeanException {
        boolean isOld = readings.isEmpty()
                || Duration.ofNanos(System.nanoTime() - sampled).compareTo(maxAge) >= 0;
        if (isOld) {
            try {
                readings = Optional.of(context.cycle());
            } catch (PerfhiveException | IllegalStateException failure) {
                throw new MBeanException(null, failure.getMessage());
            }
            sampled = System.nanoTime();
            places.clear();
        }
        return readings.get();
    }

    private Number value(Shown shown, Readings sample) throws MBeanException {
        int place = place(shown, sample);
        if (place < 0) {
            throw new MBeanException(null, shown.slot.name() + " is gone");
        }
        SensorReading reading = sample.get(place);
        if (reading.value().isEmpty()) {
            throw new MBeanException(null, reading.noValue().map(NoValue::message).orElse(""));
        }
        try {
            return plain(reading.value().get());
        } catch (ArithmeticException tooLarge) {
            throw new MBeanException(null, tooLarge.getMessage());
        }
    }

    /** The place of an attribute's reading in a sample; negative if the instance is gone. A reading seldom moves. */
    private int place(Shown shown, Readings sample) {
        if (shown.place >= 0 && shown.place < sample.size() && sample.slot(shown.place) == shown.slot) {
            return shown.place;
        }
        if (places.isEmpty()) {
            for (int place = 0; place < sample.size(); place++) {
                places.putIfAbsent(sample.slot(place).name(), place);
            }
        }
        shown.place = places.getOrDefault(shown.slot.name(), -1);
        if (shown.place >= 0) {
            shown.slot = sample.slot(shown.place);
        }
        return shown.place;
    }

    private static Number plain(ValueHandle value) {
        if (value.valueType() == ValueType.DOUBLE) {
            return value.doubleValue();
        }
        return value.longValue();
    }

    @Override
    public synchronized void close() {
        for (ObjectName name : names) {
            try {
                server.unregisterMBean(name);
            } catch (InstanceNotFoundException | MBeanRegistrationException error) {
                // Somebody else took it away.
                continue;
            }
        }
        names.clear();
        context.close();
    }

    /** A sensor of a bean, and the place of its last reading. */
    private static final class Shown {
        SensorSlot slot;
        int place;

        Shown(SensorSlot slot, int place) {
            this.slot = slot;
            this.place = place;
        }
    }

    /** The bean of one group, or of one instance of a group. */
    private final class Bean implements DynamicMBean {
        final Map<String, Shown> attributes = new LinkedHashMap<>();

        @Override
        public Object getAttribute(String attribute)
                throws AttributeNotFoundException, MBeanException {
            Shown shown = attributes.get(attribute);
            if (shown == null) {
                throw new AttributeNotFoundException(attribute);
            }
            synchronized (SensorBeans.this) {
                return value(shown, sample());
            }
        }

        /** Attributes without a value are left out, as the interface has it. */
        @Override
        public AttributeList getAttributes(String[] wanted) {
            AttributeList list = new AttributeList();
            synchronized (SensorBeans.this) {
                try {
                    Readings sample = sample();
                    for (String attribute : wanted) {
                        add(list, attribute, sample);
                    }
                } catch (MBeanException failure) {
                    return list;
                }
            }
            return list;
        }

        private void add(AttributeList list, String attribute, Readings sample) {
            Shown shown = attributes.get(attribute);
            if (shown != null) {
                try {
                    list.add(new Attribute(attribute, value(shown, sample)));
                } catch (MBeanException noValue) {
                    return;
                }
            }
        }

        @Override
        public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
            throw new AttributeNotFoundException(attribute.getName() + " can only be read");
        }

        @Override
        public AttributeList setAttributes(AttributeList attributes) {
            return new AttributeList();
        }

        @Override
        public Object invoke(String action, Object[] parameters, String[] signature)
                throws ReflectionException {
            throw new ReflectionException(new NoSuchMethodException(action));
        }

        @Override
        public MBeanInfo getMBeanInfo() {
            MBeanAttributeInfo[] attributes = this.attributes.entrySet().stream()
                    .map(shown -> info(shown.getKey(), shown.getValue().slot.sensor()))
                    .toArray(MBeanAttributeInfo[]::new);
            return new MBeanInfo(
                    SensorBeans.class.getName(), "sensors of perfhive", attributes, null, null, null);
        }

        private MBeanAttributeInfo info(String name, Sensor sensor) {
            boolean isDouble = sensor.valueType() == ValueType.DOUBLE;
            String type = (isDouble ? Double.class : Long.class).getName();
            String unit = sensor.unit().isEmpty() ? "" : " [" + sensor.unit() + "]";
            String help = sensor.help().isEmpty() ? name : sensor.help();
            return new MBeanAttributeInfo(name, type, help + unit, true, false, false);
        }
    }
}

package org.perfhive.jmx;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
import org.perfhive.Readings;
import org.perfhive.Sensor;
import org.perfhive.SensorName;
import org.perfhive.SensorReading;
import org.perfhive.SensorSlot;
import org.perfhive.ValueHandle;
import org.perfhive.ValueType;

/**
 * Shows chosen sensors as MBeans: one for each group and instance, with an attribute for each
 * sensor, named {@code org.perfhive:source=S,group=G} or with {@code ,instance=I} behind it. The
 * parts are quoted ({@link ObjectName#quote}).
 *
 * <p>Reading an attribute samples all sensors anew if the last sample is older than a limit, so
 * that rates are over that time or longer; the first ones are over the time since the beans were made. A sensor without a value throws an
 * {@link MBeanException} with the reason. The instances are those of the moment when the beans were
 * made.
 */
public final class SensorBeans implements AutoCloseable {
    private final MBeanServer server;
    private final MeasurementContext context;
    private final long maxAgeNanos;
    private final List<ObjectName> names = new ArrayList<>();
    private long sampled;

    private SensorBeans(MBeanServer server, MeasurementContext context, Duration maxAge) {
        this.server = server;
        this.context = context;
        this.maxAgeNanos = maxAge.toNanos();
        // The baseline has no rates: the first reading of an attribute samples.
        this.sampled = System.nanoTime() - maxAgeNanos;
    }

    /**
     * Registers the beans of sensors.
     *
     * @param server the server, such as the platform's
     * @param sources the data sources, which must stay open
     * @param sensors the sensors; {@code #*} shows each instance
     * @param maxAge how old a sample may be
     * @return the registration; closing it takes the beans away
     * @throws JMException if a bean cannot be registered, as when one of its name is
     * @throws org.perfhive.PerfhiveException if a name means no sensor, or a source fails
     */
    public static SensorBeans register(
            MBeanServer server, DataSources sources, List<SensorName> sensors, Duration maxAge)
            throws JMException {
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
        for (SensorReading reading : context.values()) {
            SensorSlot slot = reading.slot();
            beans.computeIfAbsent(nameOf(slot), name -> new Bean())
                    .slots
                    .putIfAbsent(slot.sensor().name().sensor(), slot);
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

    private Readings sample() {
        if (System.nanoTime() - sampled >= maxAgeNanos) {
            context.cycle();
            sampled = System.nanoTime();
        }
        return context.values();
    }

    private synchronized Object value(SensorSlot slot) throws MBeanException {
        SensorName name = slot.name();
        for (SensorReading reading : sample()) {
            if (reading.slot() == slot || reading.name().equals(name)) {
                if (reading.value().isPresent()) {
                    return plain(reading.value().get());
                }
                throw new MBeanException(null, reading.noValue().map(NoValue::message).orElse(""));
            }
        }
        throw new MBeanException(null, name + " is gone");
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

    /** One group, or one instance of it. */
    private final class Bean implements DynamicMBean {
        final Map<String, SensorSlot> slots = new LinkedHashMap<>();

        @Override
        public Object getAttribute(String attribute)
                throws AttributeNotFoundException, MBeanException {
            SensorSlot slot = slots.get(attribute);
            if (slot == null) {
                throw new AttributeNotFoundException(attribute);
            }
            return value(slot);
        }

        /** Attributes without a value are left out, as the interface has it. */
        @Override
        public AttributeList getAttributes(String[] attributes) {
            AttributeList list = new AttributeList();
            for (String attribute : attributes) {
                try {
                    list.add(new Attribute(attribute, getAttribute(attribute)));
                } catch (AttributeNotFoundException | MBeanException error) {
                    continue;
                }
            }
            return list;
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
            MBeanAttributeInfo[] attributes = slots.entrySet().stream()
                    .map(slot -> info(slot.getKey(), slot.getValue().sensor()))
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

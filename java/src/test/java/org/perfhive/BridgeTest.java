package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import javax.management.AttributeNotFoundException;
import javax.management.MBeanException;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.perfhive.jfr.FlightRecorder;
import org.perfhive.jmx.SensorBeans;

/** JMX and Java Flight Recorder. */
class BridgeTest {
    @Test
    void sensorsAreAttributesOfMBeans() throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        List<SensorName> names = List.of(
                SensorName.parse(Machine.sensor("Memory", "Available Bytes")),
                SensorName.parse(Machine.own("ID Process")),
                SensorName.parse(Machine.own("% Processor Time")),
                SensorName.parse(Machine.sensor("Processor", "% Processor Time") + "#*"));
        try (DataSources sources = DataSources.open("local:")) {
            List<ObjectName> registered;
            Duration maxAge = Duration.ofMillis(20);
            try (SensorBeans beans = SensorBeans.register(server, sources, names, maxAge)) {
                registered = beans.names();
                ObjectName memory = new ObjectName(
                        "org.perfhive:source=\"linux.procfs\",group=\"Memory\"");
                ObjectName own = new ObjectName("org.perfhive:source=\"linux.procfs\","
                        + "group=\"Process\",instance=\"" + Machine.PID + "\"");
                assertTrue(registered.contains(memory) && registered.contains(own));
                assertEquals(2 + 1 + Runtime.getRuntime().availableProcessors(), registered.size());
                assertTrue((Long) server.getAttribute(memory, "Available Bytes") > 0);
                assertEquals(Machine.PID, server.getAttribute(own, "ID Process"));
                assertTrue((Double) inTime(() -> server.getAttribute(own, "% Processor Time")) >= 0);
                String[] both = {"ID Process", "none", "ID Process"};
                assertEquals(2, server.getAttributes(own, both).size());
                MBeanInfo info = server.getMBeanInfo(own);
                assertEquals("java.lang.Long", info.getAttributes()[0].getType());
                assertThrows(AttributeNotFoundException.class, () -> server.getAttribute(own, "none"));
                assertThrows(javax.management.InstanceAlreadyExistsException.class,
                        () -> SensorBeans.register(server, sources, names, maxAge));
                assertTrue(server.isRegistered(memory));
            }
            assertTrue(registered.stream().noneMatch(server::isRegistered));
            Process sleeper = new ProcessBuilder("sleep", "60").start();
            try (SensorBeans beans = SensorBeans.register(
                    server,
                    sources,
                    List.of(SensorName.parse(Machine.sensor("Process", "% Processor Time") + "#" + sleeper.pid())),
                    Duration.ofDays(1))) {
                sleeper.destroyForcibly().waitFor();
                // The first reading samples, however young the baseline is.
                MBeanException gone = assertThrows(MBeanException.class,
                        () -> server.getAttribute(beans.names().get(0), "% Processor Time"));
                assertFalse(gone.getMessage().isBlank());
            } finally {
                sleeper.destroyForcibly();
            }
        }
    }

    /** A value, as soon as the time between two samples is long enough beside what reading took. */
    private static Object inTime(Callable<Object> read) throws Exception {
        for (long end = System.nanoTime() + 60_000_000_000L; ; Thread.sleep(10)) {
            try {
                return read.call();
            } catch (MBeanException noValue) {
                if (System.nanoTime() > end) {
                    throw noValue;
                }
            }
        }
    }

    @Test
    void readingsAreEventsOfTheFlightRecorder() throws Exception {
        Path file = Path.of(System.getProperty("perfhive.work"), "test.jfr");
        try (DataSources sources = DataSources.open("local:");
                MeasurementContext context = MeasurementContext.of(
                        sources,
                        Machine.own("Working Set"),
                        Machine.sensor("Memory", "Available Bytes"));
                Recording recording = new Recording()) {
            // Without a recording nothing happens.
            Readings readings = context.cycle();
            FlightRecorder.commit(context.record(), readings);
            recording.enable("org.perfhive.Reading");
            recording.enable("org.perfhive.Sample");
            recording.start();
            readings = context.cycle();
            FlightRecorder.commit(context.record(), readings);
            double set = readings.approximately(0);
            recording.stop();
            recording.dump(file);
            List<RecordedEvent> events = RecordingFile.readAllEvents(file);
            Files.delete(file);
            List<RecordedEvent> values = events.stream()
                    .filter(event -> event.getEventType().getName().equals("org.perfhive.Reading"))
                    .toList();
            assertEquals(2, values.size());
            assertEquals(set, values.get(0).getDouble("value"));
            assertEquals(Machine.own("Working Set"), values.get(0).getString("sensor"));
            assertEquals("" + Machine.PID, values.get(0).getString("instance"));
            RecordedEvent sample = events.stream()
                    .filter(event -> event.getEventType().getName().equals("org.perfhive.Sample"))
                    .findFirst()
                    .orElseThrow();
            assertEquals(2, sample.getInt("readings"));
            assertFalse(sample.getDuration("sampleDuration").isZero());
        }
    }
}

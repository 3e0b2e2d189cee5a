package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.management.AttributeList;
import javax.management.MBeanException;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import org.junit.jupiter.api.Test;
import org.perfhive.jmx.SensorBeans;

/** Sensors of a data source of the test's own as MBeans. */
class SensorBeansTest {
    private static final int DESKS = 5000;
    private static final Duration ALWAYS = Duration.ZERO;

    private final MBeanServer server = MBeanServerFactory.newMBeanServer();
    private final List<Sensor> sensors = List.of(
            gauge(1, "Desk", "Length", true), gauge(2, "Desk", "Width", true), gauge(3, "Shop", "Orders", false));
    private final Counting counting = new Counting();
    private final DataSources sources =
            new DataSources().add(new TestSource("test.beans", sensors, counting));

    private static Sensor gauge(int id, String group, String name, boolean hasInstances) {
        SensorName full = SensorName.of("test.beans", group, name);
        Sensor.Traits traits = new Sensor.Traits(SensorKind.GAUGE, ValueType.INT64, "", "", false);
        return hasInstances ? new StaticSensor(id, full, traits, List::of) : new SingleSensor(id, full, traits);
    }

    /** Its lengths are the number of the sample, its widths larger than a long. */
    private static final class Counting implements Probe {
        volatile long samples;
        volatile boolean fails;
        volatile CountDownLatch sampling = new CountDownLatch(0);
        volatile CountDownLatch goOn = new CountDownLatch(0);
        volatile int firstDesk;

        @Override
        public ProbeContext open(List<SelectedSensor> selection, Duration maxAge) {
            return new ProbeContext() {
                @Override
                public void baseline(ProbeReadings out) {
                    decode(out);
                }

                @Override
                public void prepare() {}

                @Override
                public int sample(long patienceNanos) {
                    if (fails) {
                        throw new PerfhiveException(PerfhiveException.Kind.SOURCE, "the shop is closed");
                    }
                    samples++;
                    sampling.countDown();
                    try {
                        goOn.await();
                    } catch (InterruptedException stopped) {
                        throw new IllegalStateException(stopped);
                    }
                    return 0;
                }

                @Override
                public void decode(ProbeReadings out) {
                    for (int asked = 0; asked < selection.size(); asked++) {
                        String name = selection.get(asked).sensor().name().sensor();
                        if (name.equals("Orders")) {
                            out.addLong(asked, Optional.empty(), samples);
                            continue;
                        }
                        for (int desk = firstDesk; desk < DESKS; desk++) {
                            out.addLong(asked, Optional.of("" + desk), name.equals("Width") ? -1 : samples);
                        }
                    }
                }
            };
        }
    }

    private SensorBeans register(Duration maxAge, String... names) throws Exception {
        List<SensorName> parsed = Stream.of(names).map(SensorName::parse).toList();
        return SensorBeans.register(server, sources, parsed, maxAge);
    }

    private static ObjectName desk(int number) throws Exception {
        return new ObjectName("org.perfhive:source=\"test.beans\",group=\"Desk\",instance=\"" + number + "\"");
    }

    @Test
    void oneCallTakesOneSample() throws Exception {
        try (SensorBeans beans = register(ALWAYS, "test.beans/Desk/Length#*", "test.beans/Shop/Orders")) {
            ObjectName shop = new ObjectName("org.perfhive:source=\"test.beans\",group=\"Shop\"");
            assertEquals(1L, server.getAttribute(shop, "Orders"));
            AttributeList all = server.getAttributes(desk(7), new String[] {"Length", "none", "Length"});
            assertEquals(List.of(2L, 2L), all.asList().stream().map(one -> one.getValue()).toList());
            assertEquals(2, counting.samples);
        }
    }

    @Test
    void readingABeanCostsTheSameHoweverManyThereAre() throws Exception {
        try (SensorBeans beans = register(Duration.ofDays(1), "test.beans/Desk/Length#*")) {
            assertEquals(1L, server.getAttribute(desk(0), "Length"));
            ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
            ObjectName last = desk(DESKS - 1);
            server.getAttribute(last, "Length");
            long before = threads.getCurrentThreadAllocatedBytes();
            server.getAttribute(last, "Length");
            long used = threads.getCurrentThreadAllocatedBytes() - before;
            assertTrue(used < 4096, used + " bytes");
        }
    }

    @Test
    void beansFindTheirReadingsAfterOthersCameAndWent() throws Exception {
        try (SensorBeans beans = register(ALWAYS, "test.beans/Desk/Length#*")) {
            counting.firstDesk = 10;
            assertEquals(1L, server.getAttribute(desk(4000), "Length"));
            MBeanException gone = assertThrows(MBeanException.class, () -> server.getAttribute(desk(9), "Length"));
            assertTrue(gone.getMessage().contains("Length#9 is gone"), gone.getMessage());
            counting.firstDesk = 0;
            assertEquals(3L, server.getAttribute(desk(9), "Length"));
            assertEquals(4L, server.getAttribute(desk(4000), "Length"));
        }
    }

    @Test
    void aValueThatIsNoLongLosesNoOther() throws Exception {
        try (SensorBeans beans = register(ALWAYS, "test.beans/Desk/Length#*", "test.beans/Desk/Width#*")) {
            assertEquals(1, server.getAttributes(desk(1), new String[] {"Length", "Width"}).size());
            MBeanException why = assertThrows(MBeanException.class, () -> server.getAttribute(desk(1), "Width"));
            assertEquals("18446744073709551615 is above the largest long", why.getMessage());
        }
    }

    @Test
    void theFailureOfASourceIsTheReason() throws Exception {
        try (SensorBeans beans = register(ALWAYS, "test.beans/Desk/Length#*")) {
            counting.fails = true;
            MBeanException why = assertThrows(MBeanException.class, () -> server.getAttribute(desk(1), "Length"));
            assertEquals("the shop is closed", why.getMessage());
            assertEquals(0, server.getAttributes(desk(1), new String[] {"Length"}).size());
            counting.fails = false;
            assertEquals(1L, server.getAttribute(desk(1), "Length"));
        }
    }

    @Test
    void theLongestAgeSamplesOnceAndANegativeOneIsRefused() throws Exception {
        try (SensorBeans beans = register(Duration.ofSeconds(Long.MAX_VALUE), "test.beans/Shop/Orders")) {
            ObjectName shop = beans.names().get(0);
            assertEquals(1L, server.getAttribute(shop, "Orders"));
            assertEquals(1L, server.getAttribute(shop, "Orders"));
        }
        assertThrows(IllegalArgumentException.class,
                () -> register(Duration.ofNanos(-1), "test.beans/Shop/Orders"));
        assertEquals(0, server.queryNames(new ObjectName("org.perfhive:*"), null).size());
    }

    @Test
    void closingWaitsForTheThreadThatReads() throws Exception {
        SensorBeans beans = register(ALWAYS, "test.beans/Shop/Orders");
        ObjectName shop = beans.names().get(0);
        counting.sampling = new CountDownLatch(1);
        counting.goOn = new CountDownLatch(1);
        List<Object> read = new java.util.concurrent.CopyOnWriteArrayList<>();
        List<Thread> readers = IntStream.range(0, 4).mapToObj(reader -> new Thread(() -> {
            try {
                read.add(server.getAttribute(shop, "Orders"));
            } catch (Exception error) {
                read.add(error);
            }
        })).toList();
        readers.forEach(Thread::start);
        counting.sampling.await();
        Thread closer = new Thread(beans::close);
        closer.start();
        counting.goOn.countDown();
        closer.join();
        for (Thread reader : readers) {
            reader.join();
        }
        assertEquals(4, read.size());
        // A value, or that the bean is gone or closed.
        read.forEach(one -> assertTrue(one instanceof Long || one instanceof javax.management.JMException, "" + one));
        assertTrue(read.stream().anyMatch(Long.class::isInstance), "" + read);
        beans.close();
    }
}

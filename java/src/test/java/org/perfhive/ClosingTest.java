package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.isClosed;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** What becomes of the probe contexts of data sources written in Java when a measurement context closes. */
class ClosingTest {
    private final List<String> log = new ArrayList<>();
    private final CountDownLatch sampling = new CountDownLatch(1);
    private final CountDownLatch goOn = new CountDownLatch(1);

    /** A probe context that notes what is called; {@code close} throws where there is a failure. */
    private class Noting implements ProbeContext {
        final String name;
        final RuntimeException failure;

        Noting(String name, RuntimeException failure) {
            this.name = name;
            this.failure = failure;
        }

        @Override
        public void prepare() {}

        @Override
        public int sample(long patienceNanos) {
            return 0;
        }

        @Override
        public void decode(ProbeReadings out) {
            out.addLong(0, Optional.empty(), 1);
        }

        @Override
        public void close() {
            log.add(name + " closed");
            if (failure != null) {
                throw failure;
            }
        }
    }

    private static DataSource source(String name, Probe probe) {
        Sensor sensor = new SingleSensor(1, SensorName.of(name, "Orders", "Count"),
                new Sensor.Traits(SensorKind.GAUGE, ValueType.INT64, "", "", false));
        return new TestSource(name, List.of(sensor), probe);
    }

    private DataSource noting(String name, RuntimeException failure) {
        return source(name, (selection, maxAge) -> new Noting(name, failure));
    }

    private MeasurementContext three(RuntimeException first, RuntimeException third) {
        DataSources sources =
                new DataSources().add(noting("a", first)).add(noting("b", null)).add(noting("c", third));
        return MeasurementContext.of(sources, "a/Orders/Count", "b/Orders/Count", "c/Orders/Count");
    }

    @Test
    void closingGoesOnBehindAProbeContextThatThrows() {
        RuntimeException first = new IllegalStateException("first");
        RuntimeException third = new IllegalStateException("third");
        MeasurementContext context = three(first, third);
        assertSame(first, assertThrows(IllegalStateException.class, context::close));
        assertEquals(List.of(third), List.of(first.getSuppressed()));
        assertEquals(List.of("a closed", "b closed", "c closed"), log);
        context.close();
        assertEquals(3, log.size());
        // Two that throw the same object.
        assertSame(first, assertThrows(IllegalStateException.class, three(first, first)::close));
    }

    @Test
    void aContextThatCannotBeMadeLeavesNothingOpen() {
        Error bad = new LinkageError("bad");
        DataSources sources = new DataSources()
                .add(noting("a", new IllegalStateException("close")))
                .add(noting("b", null))
                .add(source("c", (selection, maxAge) -> {
                    throw bad;
                }));
        assertSame(bad, assertThrows(LinkageError.class, () -> MeasurementContext.of(
                sources, "a/Orders/Count", "b/Orders/Count", "c/Orders/Count")));
        assertEquals(List.of("a closed", "b closed"), log);
        assertEquals("close", bad.getSuppressed()[0].getMessage());
    }

    @Test
    void aProbeContextIsNotClosedWhileItSamples() throws Exception {
        DataSources sources = new DataSources().add(source("a", (selection, maxAge) -> new Noting("a", null) {
            @Override
            public int sample(long patienceNanos) {
                sampling.countDown();
                try {
                    goOn.await();
                } catch (InterruptedException stopped) {
                    throw new IllegalStateException(stopped);
                }
                log.add("sampled");
                return 0;
            }
        }));
        MeasurementContext context = MeasurementContext.of(sources, "a/Orders/Count");
        context.prepare();
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try {
            Future<?> sample = pool.submit(() -> isClosed("measurement context", context::sample));
            sampling.await();
            context.close();
            isClosed("measurement context", context::prepare);
            assertEquals(List.of(), log);
            goOn.countDown();
            sample.get();
            assertEquals(List.of("sampled", "a closed"), log);
        } finally {
            pool.shutdownNow();
        }
    }

    @Test
    void aProbeContextMayCloseItsOwnContext() {
        MeasurementContext[] made = new MeasurementContext[1];
        DataSources sources = new DataSources().add(source("a", (selection, maxAge) -> new Noting("a", null) {
            @Override
            public void prepare() {
                made[0].close();
                assertTrue(log.isEmpty());
            }
        }));
        made[0] = MeasurementContext.of(sources, "a/Orders/Count");
        isClosed("measurement context", made[0]::prepare);
        assertFalse(log.isEmpty());
    }
}

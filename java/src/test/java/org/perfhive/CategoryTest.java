package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.fails;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;

class CategoryTest {
    @Test
    void categoriesAreListedAndFoundInAnyLanguage() {
        assertTrue(Category.all().stream().anyMatch(category -> category.name().equals("Process")));
        assertTrue(Category.exists("prozess") && !Category.exists("no such category"));
        try (Category process = Category.of("PROCESS")) {
            assertEquals(230, process.index());
            assertTrue(process.hasInstances() && !process.help().isEmpty());
            assertTrue(process.counterNames().contains("Working Set"));
            assertTrue(process.hasCounter("working set") && process.hasCounter("180"));
            assertFalse(process.hasCounter("none"));
            assertTrue(process.hasInstance("_Total") && !process.hasInstance("no such program"));
            assertTrue(process.instanceNames().contains("java"));
            assertEquals(process.counterNames().size(), process.counters("java").size());
            fails(Kind.INSTANCES, () -> process.counters(""));
        }
        String near = fails(Kind.UNKNOWN_CATEGORY, () -> Category.of("Proces")).getMessage();
        assertTrue(near.contains("Process"), near);
    }

    @Test
    void aCounterHasValuesSamplesAndReasons() throws Exception {
        try (PerformanceCounter busy =
                new PerformanceCounter("Processor", "% Processor Time", "_Total")) {
            assertEquals(OptionalDouble.empty(), busy.nextValue());
            assertEquals("needs-two-samples", busy.whyNone().orElseThrow().code());
            CounterSample older = busy.nextSample().orElseThrow();
            Thread.sleep(50);
            double percent = busy.nextValue().orElseThrow();
            assertTrue(percent >= 0 && percent <= 100, "" + percent);
            assertEquals(Optional.empty(), busy.whyNone());
            CounterSample newer = busy.nextSample().orElseThrow();
            assertTrue(newer.timeStamp() > older.timeStamp());
            assertTrue(CounterSample.calculate(older, newer).isPresent());
            assertEquals(OptionalDouble.empty(), CounterSample.calculate(newer));
            assertEquals("%", busy.counterType().unit());
            assertEquals("Processor", busy.categoryName());
            assertEquals("_Total", busy.instanceName());
            assertFalse(busy.counterHelp().isEmpty());
            busy.reset();
            assertEquals(OptionalDouble.empty(), busy.nextValue());
            assertEquals(Optional.empty(), busy.nextText());
        }
        try (PerformanceCounter none = new PerformanceCounter("Process", "ID Process", "no such")) {
            assertEquals(OptionalDouble.empty(), none.nextValue());
            assertEquals("no-such-instance", none.whyNone().orElseThrow().code());
        }
        fails(Kind.UNKNOWN_COUNTER, () -> new PerformanceCounter("Memory", "Availble Bytes", ""));
        CounterSample fraction = new CounterSample(30, 40, 0, 0, 0, 0, 0, 0x20020400);
        assertEquals(OptionalDouble.of(75), CounterSample.calculate(fraction));
    }

    @Test
    void allOfACategoryIsReadInOneSample() throws Exception {
        try (Category process = Category.of("Process");
                CategoryData older = process.read()) {
            assertTrue(Machine.work(50_000_000) > 0);
            try (CategoryData newer = process.read()) {
                Duration age = Duration.between(newer.time(), Instant.now());
                assertTrue(age.abs().compareTo(Duration.ofMinutes(1)) < 0, age.toString());
                assertTrue(newer.instances().contains("_Total"));
                CategoryData.Values alone = newer.values();
                assertTrue(alone.get("_total", "working set").orElseThrow() > 0);
                assertEquals("needs-two-samples",
                        alone.whyNone("_Total", "% Processor Time").orElseThrow().code());
                CategoryData.Values since = newer.valuesSince(older);
                assertTrue(since.get("_Total", "Prozessorzeit (%)").orElseThrow() > 0);
                assertEquals(OptionalDouble.empty(), since.get("none", "Working Set"));
                assertEquals("no-such-instance",
                        since.whyNone("none", "Working Set").orElseThrow().code());
                CounterSample set = newer.sample("_Total", "Working Set").orElseThrow();
                assertEquals(alone.get("_Total", "Working Set").orElseThrow(), set.rawValue());
                assertEquals(Optional.empty(), newer.text("_Total", "Working Set"));
                List<String> counters =
                        newer.counters().stream().map(CategoryData.Counter::name).toList();
                assertTrue(counters.contains("Thread Count"));
            }
        }
        try (Category memory = Category.of("Memory"); CategoryData data = memory.read()) {
            assertEquals(List.of(""), data.instances());
            assertTrue(data.values().get("", "Available Bytes").orElseThrow() > 0);
        }
    }
}

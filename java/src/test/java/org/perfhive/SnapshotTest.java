package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.perfhive.Machine.fails;
import static org.perfhive.Machine.isClosed;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.perfhive.PerfhiveException.Kind;

class SnapshotTest {
    private static final int MEMORY = 4;
    private static final int AVAILABLE_BYTES = 24;
    private static final int PROCESS = 230;
    private static final int THREAD = 232;
    private static final int ID_PROCESS = 784;
    private static final int PROCESSOR_TIME = 6;

    private static CalcValue[] items(CounterSnapshot snapshot) {
        CalcValue[] values = new CalcValue[snapshot.getSnapshotItemCount()];
        assertEquals(0, snapshot.getSnapshotItems(values));
        return values;
    }

    private static String[] split(char[] names) {
        assertEquals('\0', names[names.length - 1]);
        assertTrue(names.length == 1 || names[names.length - 2] == '\0');
        String text = new String(names, 0, Math.max(0, names.length - 2));
        return text.split("\0", -1);
    }

    @Test
    void everyRoutineOfACustomSnapshot() throws Exception {
        try (CounterDataSource source = new CounterDataSource();
                CounterSnapshot snapshot = CounterSnapshot.createSnapshot(
                        source,
                        SnapshotType.CUSTOM,
                        new SnapshotInput(PROCESS, ID_PROCESS),
                        new SnapshotInput(PROCESS, PROCESSOR_TIME),
                        new SnapshotInput(MEMORY, 0))) {
            assertEquals(2, snapshot.getSnapshotPerfObjectCount());
            int[] objects = new int[2];
            assertEquals(0, snapshot.getSnapshotPerfObjectNames(objects));
            assertArrayEquals(new int[] {MEMORY, PROCESS}, objects);
            assertEquals(2, snapshot.getSnapshotPerfObjectCountersCount(PROCESS));
            int all = snapshot.getSnapshotPerfObjectCountersCount(MEMORY);
            assertTrue(all > 10);
            CounterRecord[] records = new CounterRecord[all];
            assertEquals(0, snapshot.getSnapshotPerfObjectCounters(MEMORY, records));
            CounterRecord free = Arrays.stream(records)
                    .filter(record -> record.counterIndex() == AVAILABLE_BYTES)
                    .findFirst()
                    .orElseThrow();
            assertEquals(
                    new CounterRecord(25, 24, 0x10100, SensorKind.GAUGE, ValueType.INT64), free);
            assertEquals(0, snapshot.getSnapshotPerfObjectInstancesCount(MEMORY));

            int count = snapshot.getSnapshotPerfObjectInstancesCount(PROCESS);
            char[] names = new char[snapshot.getSnapshotPerfObjectInstancesLength(PROCESS) / 2];
            int[] parents = new int[count];
            assertEquals(0, snapshot.getSnapshotPerfObjectInstances(PROCESS, names, parents));
            String[] instances = split(names);
            assertEquals(count, instances.length);
            assertTrue(List.of(instances).contains("java"), Arrays.toString(instances));
            assertTrue(List.of(instances).contains("_Total"));

            assertEquals(0, snapshot.prepareSnapshot());
            int sampled = snapshot.sampleSnapshot();
            assertEquals(0, sampled);
            fails(Kind.STATE, snapshot::getSnapshotPerfObjectCount);
            fails(Kind.STATE, snapshot::getSnapshotItemCount);
            fails(Kind.STATE, snapshot::sampleSnapshot);
            int decoded = snapshot.decodeSnapshot();
            assertTrue(decoded == 0 || decoded == CounterSnapshot.ANOMALY, "" + decoded);
            fails(Kind.STATE, snapshot::decodeSnapshot);
            CalcValue[] items = items(snapshot);
            count = snapshot.getSnapshotPerfObjectInstancesCount(PROCESS);
            assertEquals(all + 2 * count, items.length);
            Optional<CalcValue> own = Arrays.stream(items)
                    .filter(item -> item.counterIndex() == ID_PROCESS)
                    .filter(item -> item.intValue() == Machine.PID || item.longValue() == Machine.PID)
                    .findFirst();
            int place = own.orElseThrow().instanceIndex();
            CalcValue time = Arrays.stream(items)
                    .filter(item -> item.counterIndex() == PROCESSOR_TIME
                            && item.instanceIndex() == place)
                    .findFirst()
                    .orElseThrow();
            assertEquals(ValueType.DOUBLE, time.valueType());
            assertEquals(2, time.valueTypeInt());
            assertEquals(PROCESS, time.perfObjectIndex());
            assertTrue(time.doubleValue() >= 0);
            CalcValue available = Arrays.stream(items)
                    .filter(item -> item.counterIndex() == AVAILABLE_BYTES)
                    .findFirst()
                    .orElseThrow();
            assertTrue(available.longValue() > 1 << 20);
            assertEquals(0, available.instanceIndex());

            assertThrows(IllegalArgumentException.class,
                    () -> snapshot.getSnapshotItems(new CalcValue[0]));
            assertThrows(IllegalArgumentException.class,
                    () -> snapshot.getSnapshotPerfObjectNames(new int[1]));
            fails(Kind.UNKNOWN_CATEGORY, () -> snapshot.getSnapshotPerfObjectCountersCount(THREAD));
        }
    }

    @Test
    void unknownObjectsAndCountersAreRefused() {
        try (CounterDataSource source = new CounterDataSource()) {
            fails(Kind.UNKNOWN_CATEGORY, () -> CounterSnapshot.createSnapshot(
                    source, SnapshotType.CUSTOM, new SnapshotInput(MEMORY, 0), new SnapshotInput(1 << 30, 0)));
            // A counter of another object, and no index at all.
            for (int counter : new int[] {ID_PROCESS, -1}) {
                fails(Kind.UNKNOWN_COUNTER, () -> CounterSnapshot.createSnapshot(
                        source, SnapshotType.CUSTOM, new SnapshotInput(MEMORY, counter)));
            }
        }
    }

    @Test
    void instancesThatComeAreAnAnomalyAndHaveNoRateYet() throws Exception {
        try (CounterDataSource source = new CounterDataSource();
                CounterSnapshot snapshot = CounterSnapshot.createSnapshot(
                        source, SnapshotType.CUSTOM, new SnapshotInput(PROCESS, PROCESSOR_TIME))) {
            Process child = new ProcessBuilder("sleep", "60").start();
            try {
                snapshot.prepareSnapshot();
                snapshot.sampleSnapshot();
                assertEquals(CounterSnapshot.ANOMALY, snapshot.decodeSnapshot());
                assertTrue(Arrays.stream(items(snapshot))
                        .anyMatch(item -> item.valueType() == ValueType.NONE));
            } finally {
                child.destroyForcibly().waitFor();
            }
        }
    }

    @Test
    void threadsHaveParentsAndGlobalSnapshotsHaveEverythingCheap() {
        try (CounterDataSource source = new CounterDataSource();
                CounterSnapshot threads = CounterSnapshot.createSnapshot(
                        source, SnapshotType.CUSTOM, new SnapshotInput(THREAD, 0));
                CounterSnapshot global = CounterSnapshot.createSnapshot(source, SnapshotType.GLOBAL)) {
            int count = threads.getSnapshotPerfObjectInstancesCount(THREAD);
            int[] parents = new int[count];
            threads.getSnapshotPerfObjectInstances(
                    THREAD, new char[threads.getSnapshotPerfObjectInstancesLength(THREAD) / 2], parents);
            assertTrue(Arrays.stream(parents).allMatch(parent -> parent == PROCESS));
            assertTrue(global.getSnapshotPerfObjectCount() > 10);
            global.prepareSnapshot();
            global.sampleSnapshot();
            global.decodeSnapshot();
            assertTrue(items(global).length > 500);
            threads.destroySnapshot();
            isClosed("snapshot", threads::prepareSnapshot);
        }
    }

    @Test
    void namesAreCopiedOnce() {
        try (CounterDataSource source = new CounterDataSource()) {
            CounterNames names = CounterNames.of(source, 9);
            assertTrue(names.getCount() > 300);
            char[] all = new char[names.getByteLength() / 2];
            int[] indexes = new int[names.getCount()];
            assertEquals(0, names.getNames(all, indexes));
            String[] split = split(all);
            assertEquals(names.getCount(), split.length);
            for (int place = 0; place < split.length; place++) {
                assertEquals(Optional.of(split[place]), names.name(indexes[place]));
            }
            assertEquals(Optional.of("Process"), names.name(PROCESS));
            assertEquals(Optional.empty(), names.name(1 << 30));
            assertEquals(Optional.of("Prozess"), CounterNames.of(source, 7).name(PROCESS));
            try (CounterSnapshot snapshot = CounterSnapshot.createSnapshot(
                    source, SnapshotType.CUSTOM, new SnapshotInput(PROCESS, 0))) {
                assertEquals(Optional.of(PROCESSOR_TIME),
                        names.counterIndex(snapshot, PROCESS, "% processor time"));
                assertEquals(Optional.empty(), names.counterIndex(snapshot, PROCESS, "none"));
            }
            assertThrows(IllegalArgumentException.class,
                    () -> names.getNames(new char[1], new int[names.getCount()]));
            fails(Kind.SOURCE, () -> CounterNames.of(source, 4096));
            for (int language : new int[] {-5, 65545}) {
                assertThrows(IllegalArgumentException.class, () -> CounterNames.of(source, language));
            }
        }
    }
}

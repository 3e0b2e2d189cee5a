package org.perfhive;

import java.util.List;

/**
 * Performance objects by title indexes, sampled in three stages: the snapshot object of the thesis
 * "Extending Java Performance Monitoring Framework with Support for Windows Performance Counters"
 * (section 4.3.2), with its routines under their names. A {@link MeasurementContext} takes names and
 * keeps a slot for each instance; here objects and counters are title indexes, and instances are places.
 *
 * <p>A method {@code getSnapshot...} that fills an array returns 0. The array must be large enough: the
 * method that counts the same things returns the size. Failures are exceptions. The structure and the
 * items are readable before {@code prepareSnapshot} and after {@code decodeSnapshot}.
 */
public final class CounterSnapshot implements AutoCloseable {
    /** The result of {@code sampleSnapshot} and {@code decodeSnapshot} if something was odd. */
    public static final int ANOMALY = -6;

    private final NativeObject object;

    private CounterSnapshot(NativeObject source, SnapshotType type, List<SnapshotInput> input) {
        Message.Request request = source.request().int32(type.ordinal()).int32(input.size());
        for (SnapshotInput one : input) {
            request.int32(one.perfObjectIndex()).int32(one.counterIndex());
        }
        this.object = new NativeObject("snapshot", request.send(Native.Op.SNAPSHOT).int64());
    }

    /**
     * Makes a snapshot. A first sample is taken, so that the first cycle has rates.
     *
     * @param source the source of the objects
     * @param type which objects the snapshot holds
     * @param input objects and counters for the type {@code CUSTOM}; ignored for other types
     * @return the snapshot
     * @throws PerfhiveException if the source fails, or has no such object or counter
     */
    public static CounterSnapshot createSnapshot(
            CounterDataSource source, SnapshotType type, SnapshotInput... input) {
        return new CounterSnapshot(source.object(), type, List.of(input));
    }

    /** Destroys the snapshot; the same as {@link #close()}. */
    public void destroySnapshot() {
        close();
    }

    /**
     * Counts the objects.
     *
     * @return the number of objects in the present snapshot
     */
    public int getSnapshotPerfObjectCount() {
        return object.request().send(Native.Op.SNAPSHOT_OBJECTS).int32();
    }

    /**
     * Fills an array with the title indexes of the objects, in ascending order.
     *
     * @param indices the array
     * @return 0
     */
    public int getSnapshotPerfObjectNames(int[] indices) {
        Message answer = object.request().send(Native.Op.SNAPSHOT_OBJECTS);
        int count = answer.int32();
        check(count, indices.length);
        for (int place = 0; place < count; place++) {
            indices[place] = answer.int32();
        }
        return 0;
    }

    /**
     * Counts the counters of an object.
     *
     * @param perfObject the title index of the object
     * @return the number of its counters in the snapshot, without bases
     */
    public int getSnapshotPerfObjectCountersCount(int perfObject) {
        return counters(perfObject).int32();
    }

    private Message counters(int perfObject) {
        return object.request().int32(perfObject).send(Native.Op.SNAPSHOT_COUNTERS);
    }

    /**
     * Fills an array with the counters of an object, without bases.
     *
     * @param perfObject the title index of the object
     * @param records the array
     * @return 0
     */
    public int getSnapshotPerfObjectCounters(int perfObject, CounterRecord[] records) {
        Message answer = counters(perfObject);
        int count = answer.int32();
        check(count, records.length);
        for (int place = 0; place < count; place++) {
            records[place] = new CounterRecord(
                    answer.int32(),
                    answer.int32(),
                    answer.int32(),
                    SensorKind.values()[answer.int8()],
                    ValueType.values()[answer.int8()]);
        }
        return 0;
    }

    private record Instance(int parent, String name) {}

    private List<Instance> instances(int perfObject) {
        Message answer = object.request().int32(perfObject).send(Native.Op.SNAPSHOT_INSTANCES);
        return answer.list(() -> new Instance(answer.int32(), answer.text()));
    }

    /**
     * Counts the instances of an object.
     *
     * @param perfObject the title index of the object
     * @return the number of its instances; 0 for an object without instances
     */
    public int getSnapshotPerfObjectInstancesCount(int perfObject) {
        return instances(perfObject).size();
    }

    /**
     * The length in bytes of the names of an object's instances, all together.
     *
     * @param perfObject the title index of the object
     * @return the length in bytes, two for each character, with a null character behind each name
     *     and one behind the last
     */
    public int getSnapshotPerfObjectInstancesLength(int perfObject) {
        return CounterNames.byteLength(instances(perfObject).stream().map(Instance::name).toList());
    }

    /**
     * Fills two arrays with the instances of an object, in the order of {@link CalcValue#instanceIndex()}.
     *
     * @param perfObject the title index of the object
     * @param names an array for the names, half as many characters as the length in bytes; the
     *     names are as they stand in the data, which need not be unique
     * @param ids an array for the title indexes of the objects of the parents, 0 for none
     * @return 0
     */
    public int getSnapshotPerfObjectInstances(int perfObject, char[] names, int[] ids) {
        List<Instance> instances = instances(perfObject);
        check(instances.size(), ids.length);
        CounterNames.fill(instances.stream().map(Instance::name).toList(), names);
        for (int place = 0; place < instances.size(); place++) {
            ids[place] = instances.get(place).parent();
        }
        return 0;
    }

    /**
     * Makes everything ready for a sample.
     *
     * @return 0
     * @throws PerfhiveException in a state in which that is not possible
     */
    public int prepareSnapshot() {
        object.request().send(Native.Op.SNAPSHOT_PREPARE);
        return 0;
    }

    /**
     * Takes a sample: collects the data without decoding it.
     *
     * @return 0, or {@link #ANOMALY} where a buffer had to grow (after the first five samples, for which
     *     buffers are new) or the sample has {@link #faults}, which may be warnings
     * @throws PerfhiveException in a state in which that is not possible, or if the source fails
     */
    public int sampleSnapshot() {
        return object.request().send(Native.Op.SNAPSHOT_SAMPLE).bool() ? ANOMALY : 0;
    }

    /**
     * Makes values of the sample.
     *
     * @return 0, or {@link #ANOMALY} where objects or instances came or went, or objects have other counters
     * @throws PerfhiveException in a state in which that is not possible
     */
    public int decodeSnapshot() {
        return object.request().send(Native.Op.SNAPSHOT_DECODE).bool() ? ANOMALY : 0;
    }

    /**
     * Counts the values.
     *
     * @return the number of values
     */
    public int getSnapshotItemCount() {
        return object.request().send(Native.Op.SNAPSHOT_ITEM_COUNT).int32();
    }

    /**
     * Fills an array with the values. An object in the array is filled; a {@code null} is replaced by a
     * new object. Objects behind the last value keep what they held.
     *
     * @param values the array
     * @return 0
     */
    public int getSnapshotItems(CalcValue[] values) {
        Message answer = object.request().send(Native.Op.SNAPSHOT_ITEMS);
        int count = answer.int32();
        check(count, values.length);
        for (int place = 0; place < count; place++) {
            if (values[place] == null) {
                values[place] = new CalcValue();
            }
            values[place].fill(answer);
        }
        return 0;
    }

    /**
     * The faults of the newest sample: what could not be collected, and warnings. Before the first
     * {@code sampleSnapshot}, they are those of the sample that {@link #createSnapshot} took.
     *
     * @return the faults
     */
    public List<Fault> faults() {
        Message answer = object.request().send(Native.Op.SNAPSHOT_FAULTS);
        return List.copyOf(answer.list(() -> Fault.of(answer)));
    }

    static void check(int needed, int length) {
        if (length < needed) {
            throw new IllegalArgumentException(
                    "the array has " + length + " places, and " + needed + " are needed");
        }
    }

    @Override
    public void close() {
        object.close();
    }
}

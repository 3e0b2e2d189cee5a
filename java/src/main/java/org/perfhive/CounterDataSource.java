package org.perfhive;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The performance counters of this machine, of a recording, or of anything else that perfhive
 * opens.
 */
public final class CounterDataSource implements DataSource {
    private final String name;
    private final NativeObject object;
    private final Probe probe = this::context;

    /**
     * Opens the counters of this machine. A {@link java.util.ServiceLoader} calls this constructor.
     *
     * @throws PerfhiveException if the counters cannot be read
     */
    public CounterDataSource() {
        this("local:", List.of());
    }

    private CounterDataSource(String address, List<String> titles) {
        Message.Request request = new Message.Request().text(address).int32(titles.size());
        titles.forEach(request::text);
        Message answer = request.send(Native.Op.OPEN);
        this.name = answer.text();
        this.object = new NativeObject("data source " + name, answer.int64());
    }

    /**
     * Opens an address.
     *
     * @param address {@code local:}, {@code file:A.bin,B.bin}, {@code proc:FOLDER} or another
     *     address that perfhive's commands take
     * @return the data source
     * @throws PerfhiveException if the text is no address, or the source cannot be read
     */
    public static CounterDataSource open(String address) {
        return new CounterDataSource(address, List.of());
    }

    /**
     * Opens an address with title lists, for sources without names of their own.
     *
     * @param address the address
     * @param titles files with title lists, such as {@code 009.txt}
     * @return the data source
     * @throws PerfhiveException if the text is no address, or the source has names of its own or cannot be
     *     read
     */
    public static CounterDataSource open(String address, List<String> titles) {
        return new CounterDataSource(address, titles);
    }

    /** The counters of this machine, for categories and counters that name no source; the source stays open. */
    static CounterDataSource local() {
        return Local.SOURCE;
    }

    private static final class Local {
        static final CounterDataSource SOURCE = new CounterDataSource();
    }

    @Override
    public String name() {
        return name;
    }

    NativeObject object() {
        return object;
    }

    @Override
    public List<Sensor> sensors() {
        Message answer = object.request().send(Native.Op.SENSORS);
        return List.copyOf(answer.list(() -> sensor(answer)));
    }

    @Override
    public SelectedSensor find(SensorName wanted) {
        SensorName own = new SensorName(name, wanted.group(), wanted.sensor(), wanted.instance());
        Message answer = object.request().text(own.toString()).send(Native.Op.FIND);
        return new SelectedSensor(sensor(answer), wanted.instance().filter(one -> !one.equals("*")));
    }

    private Sensor sensor(Message answer) {
        long id = answer.int64();
        SensorName own = SensorName.of(name, answer.text(), answer.text());
        SensorKind kind = SensorKind.values()[answer.int8()];
        ValueType type = ValueType.values()[answer.int8()];
        String unit = answer.text();
        String help = answer.text();
        boolean hasInstances = answer.bool();
        Sensor.Traits traits = new Sensor.Traits(kind, type, unit, help, answer.bool());
        return hasInstances
                ? new StaticSensor(id, own, traits, () -> instances(id))
                : new SingleSensor(id, own, traits);
    }

    private List<String> instances(long sensor) {
        Message answer = object.request().int64(sensor).send(Native.Op.INSTANCES);
        return List.copyOf(answer.list(answer::text));
    }

    @Override
    public Probe probe(Sensor sensor) {
        Objects.requireNonNull(sensor);
        return probe;
    }

    private ProbeContext context(List<SelectedSensor> selection, Duration maxAge) {
        Message.Request request = object.request().int64(nanos(maxAge)).int32(selection.size());
        for (SelectedSensor selected : selection) {
            MeasurementContext.checkOwn(selected.sensor(), name);
            Optional<String> instance = selected.instance();
            request.int64(selected.sensor().id()).bool(instance.isPresent());
            instance.ifPresent(request::text);
        }
        return new CounterProbeContext(name, request.send(Native.Op.PROBE).int64());
    }

    /** A duration in nanoseconds; {@link Long#MAX_VALUE} if the number does not fit into a {@code long}. */
    static long nanos(Duration duration) {
        try {
            return duration.toNanos();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }

    /**
     * Moves a recording on by one sample, for the categories, counters and snapshots of this
     * object. Does nothing for a live source.
     *
     * @throws PerfhiveException of the kind {@code END_OF_DATA} at the end of the recording
     */
    public void advance() {
        object.request().send(Native.Op.ADVANCE);
    }

    @Override
    public void close() {
        object.close();
    }

    @Override
    public String toString() {
        return name;
    }
}

package org.perfhive;

import java.time.Duration;
import java.time.Instant;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.RandomAccess;

/**
 * Records of a binding that are delivered together, and the sections that end with them. A batch does
 * not change, and may be kept. {@link #records()} makes an object for each record; {@link #value},
 * {@link #raw} and {@link #time} read single numbers without one.
 */
public final class RecordBatch {
    private final String source;
    private final List<RecordColumn> columns;
    private final List<Section> sections;
    private final long epochOffset;
    private final String[] names;
    private final int count;
    private final int[] nameOf;
    private final int[] processes;
    private final int[] threads;
    private final long[] times;
    private final long[] taken;
    private final long[] samples;
    private final long[] sampled;
    private final long[] done;
    private final long[] threadTimes;
    /** The values of all readings, record by record; not a number where there is none. */
    private final double[] values;
    private final long[] raw;
    private final byte[] kinds;
    private final byte[] hasRaw;

    /** Reads what outbox.rs wrote. */
    RecordBatch(Message message) {
        source = message.text();
        columns = List.copyOf(message.list(() -> RecordColumn.read(message)));
        epochOffset = message.int64();
        names = message.list(message::text).toArray(new String[0]);
        count = message.int32();
        nameOf = message.ints(count);
        processes = message.ints(count);
        threads = message.ints(count);
        times = message.longs(count);
        taken = message.longs(count);
        samples = message.longs(count);
        sampled = message.longs(count);
        done = message.longs(count);
        threadTimes = message.longs(count);
        int readings = count * columns.size();
        values = message.doubles(readings);
        raw = message.longs(readings);
        kinds = message.bytes(count);
        hasRaw = message.bytes(readings);
        sections = List.copyOf(message.list(() -> Section.read(message)));
    }

    /**
     * The name of the event source.
     *
     * @return the name: {@code call}, {@code interval 10ms}
     */
    public String source() {
        return source;
    }

    /**
     * The sensors of the records.
     *
     * @return the columns
     */
    public List<RecordColumn> columns() {
        return columns;
    }

    /**
     * The number of records.
     *
     * @return the number
     */
    public int size() {
        return count;
    }

    /**
     * The sections that end with these records.
     *
     * @return the sections
     */
    public List<Section> sections() {
        return sections;
    }

    /**
     * The name of a record's event.
     *
     * @param record the place of the record
     * @return the name
     */
    public String name(int record) {
        return names[nameOf[record]];
    }

    /**
     * The time of a record's event, on the clock of {@link EventRecord#time()}.
     *
     * @param record the place of the record
     * @return the time in nanoseconds
     */
    public long time(int record) {
        return times[record];
    }

    /**
     * The calendar time of a time on the clock of events. It is right for the wall clock as it was set
     * when these records were delivered.
     *
     * @param time a time such as {@link #time}, or {@link Section#start()}
     * @return the calendar time
     */
    public Instant wallTime(long time) {
        return Instant.EPOCH.plusNanos(time + epochOffset);
    }

    /**
     * The value of one column in one record.
     *
     * @param record the place of the record
     * @param column the place of the column
     * @return the value; not a number where there is none
     */
    public double value(int record, int column) {
        return values[place(record, column)];
    }

    /**
     * The raw value of one column in one record.
     *
     * @param record the place of the record
     * @param column the place of the column
     * @return the raw value, if there is one
     */
    public OptionalLong raw(int record, int column) {
        int place = place(record, column);
        return hasRaw[place] == 0 ? OptionalLong.empty() : OptionalLong.of(raw[place]);
    }

    private int place(int record, int column) {
        java.util.Objects.checkIndex(column, columns.size());
        return java.util.Objects.checkIndex(record, count) * columns.size() + column;
    }

    /**
     * The records, in the order of the events.
     *
     * @return the records; each access makes an object
     */
    public List<EventRecord> records() {
        return new Records();
    }

    private final class Records extends AbstractList<EventRecord> implements RandomAccess {
        @Override
        public int size() {
            return count;
        }

        @Override
        public EventRecord get(int record) {
            java.util.Objects.checkIndex(record, count);
            List<RecordedReading> readings = new ArrayList<>(columns.size());
            for (int column = 0; column < columns.size(); column++) {
                double value = value(record, column);
                readings.add(new RecordedReading(
                        Double.isNaN(value) ? OptionalDouble.empty() : OptionalDouble.of(value),
                        raw(record, column)));
            }
            return new EventRecord(
                    name(record),
                    EventKind.of(kinds[record]),
                    processes[record],
                    Integer.toUnsignedLong(threads[record]),
                    times[record],
                    threadTimes[record] < 0
                            ? Optional.empty()
                            : Optional.of(Duration.ofNanos(threadTimes[record])),
                    taken[record],
                    Duration.ofNanos(samples[record]),
                    sampled[record],
                    done[record],
                    readings);
        }
    }

    @Override
    public String toString() {
        return count + " records of " + source;
    }
}

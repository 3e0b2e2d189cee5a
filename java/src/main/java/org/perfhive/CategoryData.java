package org.perfhive;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * All counters of all instances of a {@link Category}, from one sample. A category without instances
 * has one instance here, with an empty name.
 */
public final class CategoryData implements AutoCloseable {
    private final String category;
    private final Optional<Instant> time;
    private final List<Counter> counters;
    private final List<String> instances;
    private final Map<String, Integer> rows;
    private final Map<String, Integer> columns;
    private final NativeObject object;

    /**
     * A counter of the category.
     *
     * @param name its name
     * @param type its type
     */
    public record Counter(String name, CounterType type) {
        /** Refuses {@code null} for any part. */
        public Counter {
            Objects.requireNonNull(name);
            Objects.requireNonNull(type);
        }
    }

    /** The values of a sample: for each counter of each instance a value, or the reason why there is none. */
    public final class Values {
        private final double[] values;
        /** The reasons of values that are missing, by their places. */
        private final Map<Integer, NoValue> reasons = new HashMap<>();

        private Values(int what, CategoryData older) {
            Message answer =
                    object.request().int32(what).handle(older.object).send(Native.Op.DATA_VALUES);
            values = new double[instances.size() * counters.size()];
            for (int place = 0; place < values.length; place++) {
                if (answer.bool()) {
                    values[place] = Double.longBitsToDouble(answer.int64());
                } else {
                    values[place] = Double.NaN;
                    reasons.put(place, answer.noValue());
                }
            }
        }

        /**
         * The value of one counter of one instance.
         *
         * @param instance the name of the instance, in small or capital letters
         * @param counter the name of the counter in any language, or its title index
         * @return the value; empty if there is no value, no such instance or no such counter
         */
        public OptionalDouble get(String instance, String counter) {
            int place = place(instance, counter);
            return place < 0 || reasons.containsKey(place)
                    ? OptionalDouble.empty()
                    : OptionalDouble.of(values[place]);
        }

        /**
         * The values of one counter.
         *
         * @param counter the name of the counter in any language, or its title index
         * @return the values in the order of {@link CategoryData#instances()}; not a number where
         *     there is none
         * @throws PerfhiveException of the kind {@code UNKNOWN_COUNTER} if there is no such counter
         */
        public double[] column(String counter) {
            int place = columnOf(counter);
            if (place < 0) {
                throw new PerfhiveException(PerfhiveException.Kind.UNKNOWN_COUNTER,
                        category + " has no counter \"" + counter + "\"");
            }
            double[] column = new double[instances.size()];
            for (int row = 0; row < column.length; row++) {
                column[row] = values[place + row * counters.size()];
            }
            return column;
        }

        /**
         * The reason why there is no value.
         *
         * @param instance the name of the instance
         * @param counter the name of the counter
         * @return the reason; empty where there is a value. The reason {@code no-such-instance} also
         *     stands for a counter that does not exist
         */
        public Optional<NoValue> whyNone(String instance, String counter) {
            int place = place(instance, counter);
            return place < 0
                    ? Optional.of(new NoValue(
                            "no-such-instance", "there is no such instance or counter"))
                    : Optional.ofNullable(reasons.get(place));
        }
    }

    CategoryData(String category, Message answer) {
        this.category = category;
        time = time(answer.ints(7));
        counters = List.copyOf(
                answer.list(() -> new Counter(answer.text(), CounterType.of(answer))));
        instances = List.copyOf(answer.list(answer::text));
        rows = byName(instances);
        columns = byName(counters.stream().map(Counter::name).toList());
        object = new NativeObject("data of the category " + category, answer.int64());
    }

    /**
     * The category's name.
     *
     * @return the name
     */
    public String categoryName() {
        return category;
    }

    /**
     * The time of the sample.
     *
     * @return the time; empty if the data has no valid date
     */
    public Optional<Instant> time() {
        return time;
    }

    private static Optional<Instant> time(int[] parts) {
        try {
            LocalDateTime whole =
                    LocalDateTime.of(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]);
            return Optional.of(whole.toInstant(ZoneOffset.UTC).plusMillis(parts[6]));
        } catch (DateTimeException noDate) {
            return Optional.empty();
        }
    }

    /**
     * The counters, in their order.
     *
     * @return the counters
     */
    public List<Counter> counters() {
        return counters;
    }

    /**
     * The instances, in their order.
     *
     * @return their names
     */
    public List<String> instances() {
        return instances;
    }

    /**
     * The values of this sample alone. Counters of a type that takes two samples have no values.
     *
     * @return the values, read from the native library at once
     */
    public Values values() {
        return new Values(0, this);
    }

    /**
     * The values from an older sample and this one. An instance is found in the older sample by its
     * identity. Counters of a type that takes one sample have the values of this sample alone.
     *
     * @param older older data of the same category
     * @return the values, read from the native library at once
     */
    public Values valuesSince(CategoryData older) {
        return new Values(1, older);
    }

    /**
     * The sample of one counter of one instance.
     *
     * @param instance the name of the instance, in small or capital letters
     * @param counter the name of the counter in any language, or its title index
     * @return the sample; empty if there is none
     */
    public Optional<CounterSample> sample(String instance, String counter) {
        Message answer = one(false, instance, counter);
        return answer.bool() ? Optional.of(CounterSample.of(answer)) : Optional.empty();
    }

    /**
     * The text of a text counter.
     *
     * @param instance the name of the instance
     * @param counter the name of the counter
     * @return the text; empty where there is none
     */
    public Optional<String> text(String instance, String counter) {
        return one(true, instance, counter).optionalText();
    }

    private Message one(boolean isText, String instance, String counter) {
        return object.request().bool(isText).text(instance).text(counter).send(Native.Op.DATA_ONE);
    }

    /** The place of a value among all values; negative if there is no such instance or counter. */
    private int place(String instance, String counter) {
        Integer known = rows.get(instance);
        int row = known != null ? known : places(instance, "").int32();
        int column = columnOf(counter);
        return row < 0 || column < 0 ? -1 : row * counters.size() + column;
    }

    private int columnOf(String counter) {
        Integer known = columns.get(counter);
        if (known != null) {
            return known;
        }
        Message answer = places("", counter);
        answer.int32();
        return answer.int32();
    }

    /** The row and the column of two names, which the native library finds in any spelling or language. */
    private Message places(String instance, String counter) {
        return object.request().text(instance).text(counter).send(Native.Op.DATA_PLACES);
    }

    private static Map<String, Integer> byName(List<String> names) {
        Map<String, Integer> places = new HashMap<>();
        for (int place = 0; place < names.size(); place++) {
            places.putIfAbsent(names.get(place), place);
        }
        return places;
    }

    @Override
    public String toString() {
        return category + time.map(at -> " at " + at).orElse("") + ": " + counters.size() + " counters of " + instances.size()
                + " instances";
    }

    @Override
    public void close() {
        object.close();
    }
}

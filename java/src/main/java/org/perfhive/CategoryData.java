package org.perfhive;

import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;

/**
 * All counters of all instances of a {@link Category}, from one sample. A category without instances
 * has one, with an empty name.
 */
public final class CategoryData implements AutoCloseable {
    private final String category;
    private final Instant time;
    private final List<Counter> counters;
    private final List<String> instances;
    private final NativeObject object;

    /**
     * A counter of the category.
     *
     * @param name its name
     * @param type its type
     */
    public record Counter(String name, CounterType type) {
        /** Checks the parts. */
        public Counter {
            Objects.requireNonNull(name);
            Objects.requireNonNull(type);
        }
    }

    /** The values of a sample: one for each instance and counter, or the reason why there is none. */
    public final class Values {
        private final List<Optional<Double>> values;
        private final List<Optional<NoValue>> reasons;

        private Values(int what, CategoryData older) {
            List<Read<Double>> read =
                    read(what, older, answer -> Double.longBitsToDouble(answer.int64()));
            values = read.stream().map(Read::value).toList();
            reasons = read.stream().map(Read::why).toList();
        }

        /**
         * A value.
         *
         * @param instance the name of the instance, in any case
         * @param counter the name of the counter in any language, or its title index
         * @return the value; empty where there is none, or no such instance or counter
         */
        public OptionalDouble get(String instance, String counter) {
            Optional<Double> value = place(instance, counter).flatMap(values::get);
            return value.map(OptionalDouble::of).orElse(OptionalDouble.empty());
        }

        /**
         * The reason why there is no value.
         *
         * @param instance the name of the instance
         * @param counter the name of the counter
         * @return the reason; empty where there is a value
         */
        public Optional<NoValue> whyNone(String instance, String counter) {
            return place(instance, counter)
                    .map(reasons::get)
                    .orElseGet(() -> Optional.of(new NoValue(
                            "no-such-instance", "there is no such instance or counter")));
        }
    }

    private record Read<T>(Optional<T> value, Optional<NoValue> why) {}

    CategoryData(String category, Message answer) {
        this.category = category;
        LocalDateTime whole = LocalDateTime.of(
                answer.int32(),
                answer.int32(),
                answer.int32(),
                answer.int32(),
                answer.int32(),
                answer.int32());
        time = whole.toInstant(ZoneOffset.UTC).plusMillis(answer.int32());
        counters = List.copyOf(
                answer.list(() -> new Counter(answer.text(), CounterType.of(answer))));
        instances = List.copyOf(answer.list(answer::text));
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
     * @return the time
     */
    public Instant time() {
        return time;
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
     * The values of this sample alone. A type that takes two samples has none.
     *
     * @return the values, read from the native library at once
     */
    public Values values() {
        return new Values(0, this);
    }

    /**
     * The values since an older sample, in which instances are found by their identity.
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
     * @param instance the name of the instance, in any case
     * @param counter the name of the counter in any language, or its title index
     * @return the sample; empty where there is none
     */
    public Optional<CounterSample> sample(String instance, String counter) {
        Optional<Integer> place = place(instance, counter);
        return place.flatMap(at -> read(2, this, CounterSample::of).get(at).value());
    }

    /**
     * The text of a text counter.
     *
     * @param instance the name of the instance
     * @param counter the name of the counter
     * @return the text; empty where there is none
     */
    public Optional<String> text(String instance, String counter) {
        Optional<Integer> place = place(instance, counter);
        return place.flatMap(at -> {
            Message answer = object.request().int32(3).handle(object).send(Native.Op.DATA_VALUES);
            Optional<String> text = Optional.empty();
            for (int value = 0; value <= at; value++) {
                text = answer.optionalText();
            }
            return text;
        });
    }

    private <T> List<Read<T>> read(int what, CategoryData older, Function<Message, T> read) {
        Message answer = object.request().int32(what).handle(older.object).send(Native.Op.DATA_VALUES);
        java.util.ArrayList<Read<T>> list = new java.util.ArrayList<>();
        for (int place = 0; place < instances.size() * counters.size(); place++) {
            list.add(answer.bool()
                    ? new Read<>(Optional.of(read.apply(answer)), Optional.empty())
                    : new Read<>(Optional.empty(), Optional.of(answer.noValue())));
        }
        return list;
    }

    private Optional<Integer> place(String instance, String counter) {
        Message answer =
                object.request().text(instance).text(counter).send(Native.Op.DATA_PLACES);
        int row = answer.int32();
        int column = answer.int32();
        return row < 0 || column < 0
                ? Optional.empty()
                : Optional.of(row * counters.size() + column);
    }

    @Override
    public void close() {
        object.close();
    }
}

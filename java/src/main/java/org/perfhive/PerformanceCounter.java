package org.perfhive;

import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.Function;

/**
 * One counter of one instance, read again and again (.NET: {@code PerformanceCounter}).
 *
 * <p>The instance is selected by name at each sample, and its identity is remembered: no value is
 * calculated from samples of two processes. {@link #whyNone()} tells why the last value, sample or text
 * was missing.
 */
public final class PerformanceCounter implements AutoCloseable {
    private final String category;
    private final String name;
    private final String instance;
    private final String help;
    private final CounterType type;
    private final NativeObject object;
    private Optional<NoValue> whyNone = Optional.empty();

    PerformanceCounter(Message answer) {
        category = answer.text();
        name = answer.text();
        instance = answer.text();
        help = answer.text();
        type = CounterType.of(answer);
        object = new NativeObject("counter " + name + " of " + category, answer.int64());
    }

    /**
     * A counter of this machine. Category and counter are names in any language, without regard to case,
     * or title indexes as text. The instance may be missing now and come later.
     *
     * @param category the category
     * @param counter the counter
     * @param instance the instance; empty for a category without instances
     * @throws PerfhiveException if there is no such category or counter, with the nearest names
     */
    public PerformanceCounter(String category, String counter, String instance) {
        this(CounterDataSource.local(), category, counter, instance);
    }

    /**
     * A counter of another source.
     *
     * @param source the source
     * @param category the category
     * @param counter the counter
     * @param instance the instance; empty for a category without instances
     * @throws PerfhiveException if there is no such category or counter, with the nearest names
     */
    public PerformanceCounter(
            CounterDataSource source, String category, String counter, String instance) {
        this(source.object().request().text(category).text(counter).text(instance)
                .send(Native.Op.COUNTER));
    }

    /**
     * The category's name.
     *
     * @return the name in the language that the source prefers
     */
    public String categoryName() {
        return category;
    }

    /**
     * The counter's name.
     *
     * @return the name in the language that the source prefers
     */
    public String counterName() {
        return name;
    }

    /**
     * The instance's name.
     *
     * @return the name as it was given; empty for a category without instances
     */
    public String instanceName() {
        return instance;
    }

    /**
     * What the counter counts.
     *
     * @return the help text; empty where the source has none
     */
    public String counterHelp() {
        return help;
    }

    /**
     * The type of the counter.
     *
     * @return the type
     */
    public CounterType counterType() {
        return type;
    }

    private synchronized <T> Optional<T> next(int what, Function<Message, T> read) {
        Message answer = object.request().int32(what).send(Native.Op.COUNTER_NEXT);
        if (answer.bool()) {
            whyNone = Optional.empty();
            return Optional.of(read.apply(answer));
        }
        whyNone = Optional.of(answer.noValue());
        return Optional.empty();
    }

    /**
     * The value from a sample that is taken now. If the type takes two samples, the value is calculated
     * from the sample of the call before and the new one; the first call has no value. Whole numbers above
     * 2<sup>53</sup> are rounded.
     *
     * @return the value; empty where there is none this time
     */
    public OptionalDouble nextValue() {
        return next(0, answer -> Double.longBitsToDouble(answer.int64()))
                .map(OptionalDouble::of)
                .orElse(OptionalDouble.empty());
    }

    /**
     * The raw value of a sample that is taken now. Its unit depends on the type of the counter.
     *
     * @return the raw value, unsigned; empty where there is none this time
     */
    public OptionalLong rawValue() {
        Optional<CounterSample> sample = nextSample();
        return sample.isPresent()
                ? OptionalLong.of(sample.get().rawValue())
                : OptionalLong.empty();
    }

    /**
     * A sample that is taken now. The older sample from which {@link #nextValue()} calculates stays the
     * same.
     *
     * @return the sample; empty where there is none this time
     */
    public Optional<CounterSample> nextSample() {
        return next(1, CounterSample::of);
    }

    /**
     * The text of a text counter, from a sample that is taken now.
     *
     * @return the text; empty where there is none this time, or the counter is a number
     */
    public Optional<String> nextText() {
        return next(2, Message::text);
    }

    /**
     * The reason why the last value, sample or text was missing.
     *
     * @return the reason; empty if the last one was there, and before the first call for one
     */
    public synchronized Optional<NoValue> whyNone() {
        return whyNone;
    }

    /**
     * The identity of the instance at the last {@link #nextValue()}. Equal identities mean the same
     * instance, such as the same process; an equal name does not.
     *
     * @return the identity; empty if there was no such call since the beginning or since {@link #reset()}, or
     *     if that call got no sample of the counter. A call in which the source or the instance failed does
     *     not count
     */
    public Optional<Identity> identity() {
        Message answer = object.request().int32(3).send(Native.Op.COUNTER_NEXT);
        return answer.bool() ? Optional.of(Identity.of(answer)) : Optional.empty();
    }

    /**
     * The faults of the last sample: what could not be read, and warnings. They often have the reason
     * for a missing value.
     *
     * @return the faults
     */
    public List<Fault> faults() {
        Message answer = object.request().int32(4).send(Native.Op.COUNTER_NEXT);
        return List.copyOf(answer.list(() -> Fault.of(answer)));
    }

    /** Forgets the last sample: the next call of {@link #nextValue()} is as the first one. */
    public void reset() {
        object.request().int32(5).send(Native.Op.COUNTER_NEXT);
    }

    /** Returns the path: {@code \Process(java)\% Processor Time}. */
    @Override
    public String toString() {
        return "\\" + category + (instance.isEmpty() ? "" : "(" + instance + ")") + "\\" + name;
    }

    @Override
    public void close() {
        object.close();
    }
}

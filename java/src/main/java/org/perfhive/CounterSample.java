package org.perfhive;

import java.util.Optional;
import java.util.OptionalDouble;

/**
 * A sample of one counter, as .NET has it. Frequencies are in ticks a second.
 *
 * @param rawValue the raw value, unsigned; its unit depends on the type
 * @param baseValue the raw value of the base; 0 where the counter has none
 * @param counterFrequency the frequency of the object's clock
 * @param systemFrequency the frequency of the system's performance counter
 * @param timeStamp the time of the sample on the system's performance counter, in ticks
 * @param timeStamp100nSec the time of the sample in units of 100 ns
 * @param counterTimeStamp the time of the sample on the object's clock, in ticks
 * @param counterType the number of the counter type
 */
public record CounterSample(
        long rawValue,
        long baseValue,
        long counterFrequency,
        long systemFrequency,
        long timeStamp,
        long timeStamp100nSec,
        long counterTimeStamp,
        int counterType) {
    static CounterSample of(Message answer) {
        return new CounterSample(
                answer.int64(),
                answer.int64(),
                answer.int64(),
                answer.int64(),
                answer.int64(),
                answer.int64(),
                answer.int64(),
                answer.int32());
    }

    private Message.Request write(Message.Request request) {
        request.int64(rawValue).int64(baseValue).int64(counterFrequency).int64(systemFrequency);
        request.int64(timeStamp).int64(timeStamp100nSec).int64(counterTimeStamp);
        return request.int32(counterType);
    }

    /**
     * The value that one sample alone gives.
     *
     * @param sample the sample
     * @return the value; empty if there is none, as for a type that takes two samples or is no number
     */
    public static OptionalDouble calculate(CounterSample sample) {
        return calculate(Optional.empty(), sample);
    }

    /**
     * The value from two samples of one counter of one instance. The method cannot check that both are of
     * the same instance.
     *
     * @param older the older sample
     * @param newer the newer one
     * @return the value; empty where there is none, as for a counter that went backwards
     */
    public static OptionalDouble calculate(CounterSample older, CounterSample newer) {
        return calculate(Optional.of(older), newer);
    }

    private static OptionalDouble calculate(Optional<CounterSample> older, CounterSample newer) {
        Message.Request request = new Message.Request().bool(older.isPresent());
        older.ifPresent(sample -> sample.write(request));
        Message answer = newer.write(request).send(Native.Op.CALCULATE);
        return answer.bool()
                ? OptionalDouble.of(Double.longBitsToDouble(answer.int64()))
                : OptionalDouble.empty();
    }
}

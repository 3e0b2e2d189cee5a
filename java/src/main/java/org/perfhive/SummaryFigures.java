package org.perfhive;

import java.util.OptionalDouble;

/**
 * Count, mean, percentiles and bounds of many numbers. Percentiles are within 1 % of the exact value;
 * everything else is exact. Without numbers, all but {@code count} and {@code sum} are
 * not-a-number.
 *
 * @param count how many numbers there were
 * @param sum their sum
 * @param min the smallest
 * @param max the greatest
 * @param p50 the median
 * @param p90 the number at or below which 90 % of the numbers lie
 * @param p95 the number at or below which 95 % of the numbers lie
 * @param p99 the number at or below which 99 % of the numbers lie
 * @param p999 the number at or below which 99.9 % of the numbers lie
 */
public record SummaryFigures(
        long count,
        double sum,
        double min,
        double max,
        double p50,
        double p90,
        double p95,
        double p99,
        double p999) {

    /**
     * The mean.
     *
     * @return the mean; empty without numbers
     */
    public OptionalDouble mean() {
        return count == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / count);
    }

    static SummaryFigures read(Message message) {
        long count = message.int64();
        double[] numbers = message.doubles(8);
        return new SummaryFigures(count, numbers[0], numbers[1], numbers[2], numbers[3],
                numbers[4], numbers[5], numbers[6], numbers[7]);
    }
}

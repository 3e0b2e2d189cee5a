package org.perfhive;

/**
 * A floating-point number.
 *
 * @param value the number
 */
public record DoubleValueHandle(double value) implements ValueHandle {
    @Override
    public ValueType valueType() {
        return ValueType.DOUBLE;
    }

    @Override
    public long longValue() {
        long whole = (long) value;
        // The largest long is no double: what rounds to it is too large.
        if (whole != value || whole == Long.MAX_VALUE) {
            throw new ArithmeticException(value + " is no long");
        }
        return whole;
    }

    @Override
    public double doubleValue() {
        return value;
    }

    @Override
    public double approximately() {
        return value;
    }

    @Override
    public String toString() {
        return Double.toString(value);
    }
}

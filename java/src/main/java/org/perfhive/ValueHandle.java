package org.perfhive;

/**
 * A value of one of three types. A conversion that would change the number throws an
 * {@link ArithmeticException}: 3.0 can be read as an {@code int}, 2.5 and 2<sup>40</sup> cannot.
 */
public sealed interface ValueHandle permits IntValueHandle, LongValueHandle, DoubleValueHandle {
    /**
     * The type of the value.
     *
     * @return the type
     */
    ValueType valueType();

    /**
     * The value as an {@code int}.
     *
     * @return the same number
     * @throws ArithmeticException if it is not an {@code int}
     */
    default int intValue() {
        long value = longValue();
        if (value != (int) value) {
            throw new ArithmeticException(value + " is no int");
        }
        return (int) value;
    }

    /**
     * The value as a {@code long}.
     *
     * @return the same number
     * @throws ArithmeticException if it is not a {@code long}
     */
    long longValue();

    /**
     * The value as a {@code double}.
     *
     * @return the same number
     * @throws ArithmeticException if no {@code double} is this number, as for most whole numbers above
     *     2<sup>53</sup>
     */
    double doubleValue();

    /**
     * The nearest {@code double}, for charts and sums. It never throws.
     *
     * @return the number, rounded where it has to be
     */
    double approximately();
}

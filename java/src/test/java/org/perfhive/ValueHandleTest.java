package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class ValueHandleTest {
    private static void lossy(org.junit.jupiter.api.function.Executable call) {
        assertThrows(ArithmeticException.class, call);
    }

    @Test
    void conversionsKeepTheNumberOrThrow() {
        ValueHandle small = new IntValueHandle(5);
        assertEquals(5, small.intValue());
        assertEquals(5L, small.longValue());
        assertEquals(5.0, small.doubleValue());
        ValueHandle unsigned = new IntValueHandle(-1);
        assertEquals(4294967295L, unsigned.longValue());
        assertEquals("4294967295", unsigned.toString());
        lossy(unsigned::intValue);
        ValueHandle large = new LongValueHandle(1L << 40);
        lossy(large::intValue);
        assertEquals(0x1p40, large.doubleValue());
        ValueHandle odd = new LongValueHandle((1L << 53) + 1);
        assertEquals((1L << 53) + 1, odd.longValue());
        lossy(odd::doubleValue);
        assertEquals(0x1p53, odd.approximately());
        ValueHandle most = new LongValueHandle(-1);
        lossy(most::longValue);
        lossy(most::doubleValue);
        assertEquals(0x1p64, most.approximately());
        assertEquals("18446744073709551615", most.toString());
        assertEquals(0x1p63, new LongValueHandle(Long.MIN_VALUE).doubleValue());
        assertEquals(0.0, new LongValueHandle(0).doubleValue());
        ValueHandle half = new DoubleValueHandle(2.5);
        assertEquals(2.5, half.doubleValue());
        lossy(half::longValue);
        lossy(half::intValue);
        assertEquals(3, new DoubleValueHandle(3.0).intValue());
        for (double not : new double[] {Double.NaN, Double.POSITIVE_INFINITY, 0x1p63, 1e300}) {
            lossy(() -> new DoubleValueHandle(not).longValue());
        }
        assertEquals(Long.MIN_VALUE, new DoubleValueHandle(-0x1p63).longValue());
    }
}

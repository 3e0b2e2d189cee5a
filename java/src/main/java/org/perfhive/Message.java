package org.perfhive;

import java.lang.ref.Reference;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/** Messages to the native library and back; wire.rs describes their layout. */
final class Message {
    private final ByteBuffer bytes;

    private Message(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    boolean bool() {
        return bytes.get() != 0;
    }

    int int8() {
        return bytes.get();
    }

    int int32() {
        return bytes.getInt();
    }

    long int64() {
        return bytes.getLong();
    }

    String text() {
        int length = int32();
        if (length < 0 || length > bytes.remaining()) {
            throw new BufferUnderflowException();
        }
        String text = new String(bytes.array(), bytes.position(), length, StandardCharsets.UTF_8);
        bytes.position(bytes.position() + length);
        return text;
    }

    Optional<String> optionalText() {
        return bool() ? Optional.of(text()) : Optional.empty();
    }

    /** A list, each entry read by {@code read}. */
    <T> List<T> list(Supplier<T> read) {
        int count = int32();
        List<T> list = new ArrayList<>(Math.min(count, bytes.remaining()));
        for (int place = 0; place < count; place++) {
            list.add(read.get());
        }
        return list;
    }

    /** The next {@code count} numbers, which stand in the message one after another, without their count. */
    int[] ints(int count) {
        int[] numbers = new int[count];
        bytes.asIntBuffer().get(numbers);
        bytes.position(bytes.position() + count * Integer.BYTES);
        return numbers;
    }

    long[] longs(int count) {
        long[] numbers = new long[count];
        bytes.asLongBuffer().get(numbers);
        bytes.position(bytes.position() + count * Long.BYTES);
        return numbers;
    }

    double[] doubles(int count) {
        double[] numbers = new double[count];
        bytes.asDoubleBuffer().get(numbers);
        bytes.position(bytes.position() + count * Double.BYTES);
        return numbers;
    }

    byte[] bytes(int count) {
        byte[] taken = new byte[count];
        bytes.get(taken);
        return taken;
    }

    NoValue noValue() {
        return new NoValue(text(), text());
    }

    /** A request that is being written. */
    static final class Request {
        private ByteBuffer bytes = ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN);
        /** The objects that the request names by their handles. */
        private final List<NativeObject> objects = new ArrayList<>(1);

        Request handle(NativeObject object) {
            objects.add(object);
            return int64(object.handle());
        }

        private ByteBuffer room(int count) {
            if (bytes.remaining() < count) {
                int capacity = Math.max(bytes.capacity() * 2, bytes.position() + count);
                ByteBuffer larger = ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN);
                bytes = larger.put(bytes.flip());
            }
            return bytes;
        }

        Request bool(boolean value) {
            room(1).put((byte) (value ? 1 : 0));
            return this;
        }

        Request int32(int value) {
            room(4).putInt(value);
            return this;
        }

        Request int64(long value) {
            room(8).putLong(value);
            return this;
        }

        Request text(String text) {
            byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
            int32(encoded.length);
            room(encoded.length).put(encoded);
            return this;
        }

        Request texts(java.util.Collection<String> texts) {
            int32(texts.size());
            texts.forEach(this::text);
            return this;
        }

        Message send(Native.Op operation) {
            byte[] request = new byte[bytes.position()];
            bytes.flip().get(request);
            try {
                return new Message(Native.call(operation.ordinal(), request));
            } catch (PerfhiveException error) {
                RuntimeException failure = error;
                for (NativeObject object : objects) {
                    failure = failure == error ? object.explain(error) : failure;
                }
                throw failure;
            } finally {
                // What is garbage is closed, and must not be before the call returns.
                Reference.reachabilityFence(objects);
            }
        }
    }
}

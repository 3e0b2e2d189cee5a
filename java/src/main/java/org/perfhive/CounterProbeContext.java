package org.perfhive;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** A probe context of the native library. */
final class CounterProbeContext implements ProbeContext {
    private final NativeObject object;
    private final int[] facts = new int[5];

    CounterProbeContext(String source, long handle) {
        this.object = new NativeObject("probe context of " + source, handle);
    }

    long handle() {
        return object.handle();
    }

    @Override
    public void baseline(ProbeReadings out) {
        fill(out);
    }

    @Override
    public void prepare() {
        object.use(Native::prepare);
    }

    @Override
    public int sample(long patienceNanos) {
        try {
            return Native.sample(object.handle(), patienceNanos);
        } catch (PerfhiveException error) {
            throw object.explain(error);
        } finally {
            Reference.reachabilityFence(object);
        }
    }

    @Override
    public void decode(ProbeReadings out) {
        object.use(Native::decode);
        fill(out);
    }

    /** Decodes in spite of the failure: the native library keeps it, and gives the readings the reason. */
    @Override
    public void fail(PerfhiveException why, ProbeReadings out) {
        try {
            decode(out);
        } catch (PerfhiveException again) {
            ProbeContext.super.fail(why, out);
        }
    }

    private synchronized void fill(ProbeReadings out) {
        object.use(handle -> copy(handle, out));
        if (facts[1] != out.version) {
            structure(out);
        }
        if (facts[2] != out.reasonsVersion) {
            Message answer = object.request().send(Native.Op.REASONS);
            out.reasonsVersion = answer.int32();
            out.reasons = answer.list(answer::noValue);
        }
    }

    private void copy(long handle, ProbeReadings out) {
        Native.facts(handle, facts);
        out.resize(facts[0]);
        Native.values(handle, out.bits);
        if (facts[3] != out.codesVersion || facts[1] != out.version) {
            Native.codes(handle, out.codes);
            out.codesVersion = facts[3];
        }
        Native.rawValues(handle, out.raw, out.before);
    }

    /** Brings the slots up to date. The name of an instance is sent once; known slots are sent as places. */
    private void structure(ProbeReadings out) {
        Message answer = object.request().int32(out.version).send(Native.Op.STRUCTURE);
        int version = answer.int32();
        int count = answer.int32();
        SensorSlot[] before = out.slots;
        // Two arrays take turns.
        SensorSlot[] slots = out.spare.length >= count ? out.spare : new SensorSlot[out.bits.length];
        int place = 0;
        while (place < count) {
            int known = answer.int32();
            if (known >= 0) {
                int length = answer.int32();
                System.arraycopy(before, known, slots, place, length);
                place += length;
            } else {
                int asked = answer.int32();
                slots[place++] = new SensorSlot(asked, out.sensor(asked), answer.optionalText());
            }
        }
        // What is gone is let go.
        Arrays.fill(slots, count, slots.length, null);
        out.spare = before;
        out.slots = slots;
        out.version = version;
    }

    @Override
    public List<Anomaly> anomalies() {
        Message answer = object.request().send(Native.Op.ANOMALIES);
        return answer.list(() -> {
            Anomaly.Code code = Anomaly.Code.of(answer.text());
            String subject = answer.text();
            int count = answer.int32();
            Duration age = Duration.ofNanos(answer.int64());
            return new Anomaly(code, subject, count, age, answer.text());
        });
    }

    @Override
    public void close() {
        object.close();
    }
}

package org.perfhive;

import java.lang.invoke.VarHandle;
import java.util.Arrays;

/** The readings of all probes of a context in the order of the sensors asked for, filled in each cycle. */
final class AllReadings {
    private final ProbeReadings[] parts;
    /** For each part, the places of the part's sensors among all sensors that were asked for. */
    private final int[][] asked;
    private final int[] versions;
    /** The part of each reading; empty where there is one part. */
    private int[] partOf = {};
    /** The place of each reading in its part; empty where there is one part. */
    private int[] placeOf = {};
    /** For each sensor asked for, the place of its first reading; the last entry is the number of readings. */
    final int[] first;
    int size;
    /** A number that differs in each sample, and is odd while the arrays are filled. */
    volatile int stamp;

    AllReadings(ProbeReadings[] parts, int[][] asked) {
        this.parts = parts;
        this.asked = asked;
        this.versions = new int[parts.length];
        this.first = new int[Arrays.stream(asked).mapToInt(places -> places.length).sum() + 1];
        Arrays.fill(versions, -2);
    }

    /** Begins to fill the arrays: readings of the sample before are of no use from now on. */
    void begin() {
        stamp |= 1;
        VarHandle.storeStoreFence();
    }

    /** Ends filling: puts the readings of all parts in order, and returns them. */
    Readings end() {
        arrange();
        stamp++;
        return new Readings(this);
    }

    /** Puts the readings of all parts in order; quick where the structure of all parts is as before. */
    private void arrange() {
        boolean same = true;
        size = 0;
        for (int part = 0; part < parts.length; part++) {
            same &= versions[part] == parts[part].version;
            versions[part] = parts[part].version;
            size += parts[part].count;
        }
        if (same) {
            return;
        }
        int[] next = new int[parts.length];
        if (parts.length > 1) {
            partOf = new int[size];
            placeOf = new int[size];
        }
        int sensor = 0;
        for (int place = 0; place < size; place++) {
            int part = least(next);
            for (int asked = askedAt(part, next[part]); sensor <= asked; sensor++) {
                first[sensor] = place;
            }
            if (parts.length > 1) {
                partOf[place] = part;
                placeOf[place] = next[part];
            }
            next[part]++;
        }
        Arrays.fill(first, sensor, first.length, size);
    }

    /**
     * The part with the next reading, in the order of the sensors asked for; -1 where no part has one
     * left. {@code next} has the place of the next reading in each part.
     */
    private int least(int[] next) {
        int least = -1;
        for (int part = 0; part < parts.length; part++) {
            if (next[part] < parts[part].count
                    && (least < 0 || askedAt(part, next[part]) < askedAt(least, next[least]))) {
                least = part;
            }
        }
        return least;
    }

    private int askedAt(int part, int place) {
        return asked[part][parts[part].slots[place].asked];
    }

    int sensors() {
        return first.length - 1;
    }

    ProbeReadings part(int index) {
        return parts[parts.length == 1 ? 0 : partOf[index]];
    }

    int place(int index) {
        return parts.length == 1 ? index : placeOf[index];
    }

    /** The place of a reading's sensor among all that were asked for. */
    int asked(int index) {
        return askedAt(parts.length == 1 ? 0 : partOf[index], place(index));
    }
}

package org.perfhive;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The names of title indexes: the names object of the thesis "Extending Java Performance Monitoring
 * Framework with Support for Windows Performance Counters" (section 4.3.1). All names are copied from the
 * native library once; looking up a name makes no native call.
 */
public final class CounterNames {
    private final int[] indices;
    private final List<String> names;
    private final Map<Integer, String> byIndex = new HashMap<>();

    private CounterNames(Message answer) {
        int count = answer.int32();
        indices = new int[count];
        names = new ArrayList<>(count);
        for (int place = 0; place < count; place++) {
            indices[place] = answer.int32();
            names.add(answer.text().replace('\0', '\ufffd'));
            byIndex.put(indices[place], names.get(place));
        }
    }

    /**
     * The names of a source in the language that the source prefers: for a live source its first
     * language, which on Windows is the user's; for a recording English, if the recording has it.
     *
     * @param source the source
     * @return the names
     * @throws PerfhiveException if the source cannot give the names
     */
    public static CounterNames of(CounterDataSource source) {
        return new CounterNames(source.object().request().int32(-1).send(Native.Op.NAMES));
    }

    /**
     * The names of a source in a language.
     *
     * @param source the source
     * @param language the language's number as Windows has it: 9 for English, 7 for German
     * @return the names
     * @throws PerfhiveException if the source does not have the language
     * @throws IllegalArgumentException if {@code language} is not a number from 0 to 65,535
     */
    public static CounterNames of(CounterDataSource source, int language) {
        if (language < 0 || language > 0xFFFF) {
            throw new IllegalArgumentException(language + " is no number of a language");
        }
        return new CounterNames(source.object().request().int32(language).send(Native.Op.NAMES));
    }

    /**
     * Counts the names.
     *
     * @return the number of names
     */
    public int getCount() {
        return indices.length;
    }

    /**
     * The length in bytes of all names together.
     *
     * @return the length in bytes, two for each character, with a null character behind each name
     *     and one behind the last
     */
    public int getByteLength() {
        return byteLength(names);
    }

    /**
     * Fills two arrays with all names and with their indexes, in the same order.
     *
     * @param allNames an array for the names, half as many characters as the length in bytes; a null
     *     character is behind each name and one behind the last
     * @param allIndices an array for the title indexes
     * @return 0
     */
    public int getNames(char[] allNames, int[] allIndices) {
        CounterSnapshot.check(indices.length, allIndices.length);
        fill(names, allNames);
        System.arraycopy(indices, 0, allIndices, 0, indices.length);
        return 0;
    }

    /**
     * The name of an index.
     *
     * @param index the title index
     * @return the name, if there is one
     */
    public Optional<String> name(int index) {
        return Optional.ofNullable(byIndex.get(index));
    }

    /**
     * The title index of a counter of an object, by the counter's name. Only the object's counters are
     * searched, since counters of other objects may have the same name.
     *
     * @param snapshot a snapshot that has the object
     * @param perfObject the title index of the object
     * @param counter the name, without regard to case
     * @return the title index of the first counter of this name, if the object has one
     */
    public Optional<Integer> counterIndex(CounterSnapshot snapshot, int perfObject, String counter) {
        CounterRecord[] records =
                new CounterRecord[snapshot.getSnapshotPerfObjectCountersCount(perfObject)];
        snapshot.getSnapshotPerfObjectCounters(perfObject, records);
        for (CounterRecord record : records) {
            if (name(record.counterIndex()).filter(counter::equalsIgnoreCase).isPresent()) {
                return Optional.of(record.counterIndex());
            }
        }
        return Optional.empty();
    }

    @Override
    public String toString() {
        return indices.length + " names";
    }

    static int byteLength(List<String> names) {
        return Math.multiplyExact(2, names.stream().mapToInt(name -> name.length() + 1).sum() + 1);
    }

    static void fill(List<String> names, char[] out) {
        CounterSnapshot.check(byteLength(names) / 2, out.length);
        int at = 0;
        for (String name : names) {
            name.getChars(0, name.length(), out, at);
            at += name.length();
            out[at++] = '\0';
        }
        out[at] = '\0';
    }
}

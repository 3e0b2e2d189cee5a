package org.perfhive;

import java.time.Duration;
import java.util.Objects;

/**
 * Something odd about a sample. The sample is of use all the same.
 *
 * @param code the kind of the anomaly
 * @param subject the data source, or the data source and group: {@code linux.procfs/Process}
 * @param count how many instances or further anomalies; 0 where nothing is counted
 * @param age the age of the data, where that is the anomaly; zero otherwise
 * @param message what happened, for people
 */
public record Anomaly(Code code, String subject, int count, Duration age, String message) {
    /** Refuses {@code null} for any part. */
    public Anomaly {
        Objects.requireNonNull(code);
        Objects.requireNonNull(subject);
        Objects.requireNonNull(age);
        Objects.requireNonNull(message);
    }

    /** The kind of an anomaly. */
    public enum Code {
        /**
         * A buffer was too small and was allocated anew, so that the sample took longer. This is not
         * reported for the first five samples of a context, for which buffers are new.
         */
        BUFFER_GROWN("buffer-grown"),
        /** The data was collected before the sample, as {@link MeasurementOptions#maxAge()} allows. */
        AGED("aged"),
        /** Instances appeared since the sample before. */
        BORN("born"),
        /** Instances vanished since the sample before. */
        GONE("gone"),
        /** A group has other counters than before. */
        STRUCTURE_CHANGED("structure-changed"),
        /** A data source did not answer in time. */
        LATE("late"),
        /** A data source failed while others went on. */
        FAILED("failed"),
        /** A part of the data could not be collected, or there is a warning about data that was kept. */
        PARTIAL("partial"),
        /** There were more anomalies than are kept. */
        MORE("more");

        private final String word;

        Code(String word) {
            this.word = word;
        }

        /**
         * The word for this kind of anomaly in the outputs of perfhive.
         *
         * @return the word
         */
        public String word() {
            return word;
        }

        static Code of(String word) {
            for (Code code : values()) {
                if (code.word.equals(word)) {
                    return code;
                }
            }
            throw new PerfhiveException(PerfhiveException.Kind.INTERNAL, "no anomaly " + word);
        }
    }

    /**
     * The anomaly of a data source that failed.
     *
     * @param source the name of the data source
     * @param error the failure
     * @return the anomaly, {@code late} or {@code failed}
     */
    static Anomaly failed(String source, PerfhiveException error) {
        boolean late = error.kind() == PerfhiveException.Kind.LATE;
        String message = late ? source + ": did not answer in time" : source + ": " + error.getMessage();
        return new Anomaly(late ? Code.LATE : Code.FAILED, source, 0, Duration.ZERO, message);
    }

    @Override
    public String toString() {
        return message;
    }
}

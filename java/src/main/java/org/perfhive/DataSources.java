package org.perfhive;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Data sources by name. Closing this object closes each of them. */
public final class DataSources implements AutoCloseable {
    private final List<DataSource> sources = new ArrayList<>();

    /** No data sources. */
    public DataSources() {}

    /**
     * Opens the data sources of addresses.
     *
     * @param addresses addresses such as {@code local:} or {@code file:a.bin,b.bin}
     * @return the data sources
     * @throws PerfhiveException if a data source cannot be read, or two have the same name
     */
    public static DataSources open(String... addresses) {
        return filled(opened -> {
            for (String address : addresses) {
                opened.addOrClose(CounterDataSource.open(address));
            }
        });
    }

    /** Data sources that {@code fill} has filled; where it throws, those opened so far are closed. */
    private static DataSources filled(Consumer<DataSources> fill) {
        DataSources opened = new DataSources();
        try {
            fill.accept(opened);
            return opened;
        } catch (RuntimeException | Error error) {
            try {
                opened.close();
            } catch (RuntimeException also) {
                error.addSuppressed(also);
            }
            throw error;
        }
    }

    private void addOrClose(DataSource source) {
        try {
            add(source);
        } catch (RuntimeException error) {
            source.close();
            throw error;
        }
    }

    /**
     * All data sources that a {@link ServiceLoader} finds: the counters of this machine, and those
     * that other jars provide.
     *
     * @return the data sources
     * @throws java.util.ServiceConfigurationError if a data source cannot be made
     * @throws PerfhiveException if two have the same name
     */
    public static DataSources load() {
        return filled(loaded -> {
            ServiceLoader.load(DataSource.class).forEach(loaded::addOrClose);
            if (loaded.sources.isEmpty()) {
                // The thread's class loader may not see this jar, as in pools and application servers.
                ServiceLoader.load(DataSource.class, DataSource.class.getClassLoader())
                        .forEach(loaded::addOrClose);
            }
        });
    }

    /**
     * Adds a data source.
     *
     * @param source the data source
     * @return this object
     * @throws PerfhiveException if there is one of this name
     */
    public synchronized DataSources add(DataSource source) {
        String name = Objects.requireNonNull(source.name(), "a data source without a name");
        if (sources.stream().anyMatch(known -> known.name().equals(name))) {
            throw new PerfhiveException(
                    PerfhiveException.Kind.SAME_NAME,
                    "there is a data source \"" + name + "\" already");
        }
        sources.add(source);
        return this;
    }

    /**
     * The data sources, in the order in which they were added.
     *
     * @return the data sources
     */
    public synchronized Stream<DataSource> stream() {
        return List.copyOf(sources).stream();
    }

    /**
     * The data source with a name. Case matters only where the names of two data sources differ in
     * nothing else.
     *
     * @param name the name; {@code win32.winperf} is another name of {@code windows.winperf}
     * @return the data source
     * @throws PerfhiveException if there is none
     */
    public synchronized DataSource get(String name) {
        String meant = name.equalsIgnoreCase("win32.winperf") ? "windows.winperf" : name;
        List<DataSource> folded =
                sources.stream().filter(known -> known.name().equalsIgnoreCase(meant)).toList();
        return folded.stream()
                .filter(known -> known.name().equals(meant))
                .findFirst()
                .or(() -> folded.size() == 1 ? folded.stream().findFirst() : Optional.empty())
                .orElseThrow(() -> new PerfhiveException(
                        PerfhiveException.Kind.UNKNOWN_SOURCE,
                        "no data source \"" + name + "\"; there are: "
                                + sources.stream()
                                        .map(DataSource::name)
                                        .collect(Collectors.joining(", "))));
    }

    /**
     * The sensor and instances that a name means.
     *
     * @param name the name
     * @return the sensor and instance
     * @throws PerfhiveException if there is no such sensor
     */
    public SelectedSensor find(SensorName name) {
        return get(name.source()).find(name);
    }

    @Override
    public synchronized String toString() {
        return sources.stream().map(DataSource::name).collect(Collectors.joining(", "));
    }

    /** Closes all data sources. If closing one throws, the others are closed before the exception goes on. */
    @Override
    public synchronized void close() {
        closeAll(sources, DataSource::close);
    }

    /**
     * Calls {@code close} with each of {@code all}. The first exception is thrown once all are closed; later
     * exceptions are added to it as suppressed ones.
     */
    static <T> void closeAll(List<T> all, Consumer<T> close) {
        RuntimeException failure = null;
        for (T one : all) {
            try {
                close.accept(one);
            } catch (RuntimeException error) {
                if (failure == null) {
                    failure = error;
                } else if (failure != error) {
                    failure.addSuppressed(error);
                }
            }
        }
        if (failure != null) {
            throw failure;
        }
    }
}

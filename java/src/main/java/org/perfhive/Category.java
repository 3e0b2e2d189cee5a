package org.perfhive;

import java.util.List;
import java.util.Objects;
import java.util.Optional;

/** A category of counters: a performance object, as .NET calls and reads it. */
public final class Category implements AutoCloseable {
    private final String name;
    private final int index;
    private final String help;
    private final boolean hasInstances;
    private final List<String> counterNames;
    private final NativeObject object;

    private Category(Message answer) {
        name = answer.text();
        index = answer.int32();
        help = answer.text();
        hasInstances = answer.bool();
        counterNames = List.copyOf(answer.list(answer::text));
        object = new NativeObject("category " + name, answer.int64());
    }

    /**
     * The categories of this machine.
     *
     * @return all categories
     * @throws PerfhiveException if the source does not answer
     */
    public static List<Category> all() {
        return all(CounterDataSource.local());
    }

    /**
     * The categories of a source.
     *
     * @param source the source
     * @return all categories
     * @throws PerfhiveException if the source does not answer
     */
    public static List<Category> all(CounterDataSource source) {
        Message answer = source.object().request().bool(false).send(Native.Op.CATEGORIES);
        return List.copyOf(answer.list(() -> new Category(answer)));
    }

    /**
     * A category of this machine.
     *
     * @param name the name in any language, or the title index as text
     * @return the category
     * @throws PerfhiveException if there is none, with the nearest names
     */
    public static Category of(String name) {
        return of(CounterDataSource.local(), name);
    }

    /**
     * A category of a source.
     *
     * @param source the source
     * @param name the name in any language, or the title index as text
     * @return the category
     * @throws PerfhiveException if there is none, with the nearest names
     */
    public static Category of(CounterDataSource source, String name) {
        Message answer =
                source.object().request().bool(true).text(name).send(Native.Op.CATEGORIES);
        return answer.list(() -> new Category(answer)).get(0);
    }

    /**
     * Whether this machine has a category.
     *
     * @param name the name in any language, or the title index as text
     * @return whether there is one
     */
    public static boolean exists(String name) {
        return exists(CounterDataSource.local(), name);
    }

    /**
     * Whether a source has a category.
     *
     * @param source the source
     * @param name the name in any language, or the title index as text
     * @return whether there is one
     */
    public static boolean exists(CounterDataSource source, String name) {
        try {
            of(source, name).close();
            return true;
        } catch (PerfhiveException error) {
            if (error.kind() == PerfhiveException.Kind.UNKNOWN_CATEGORY) {
                return false;
            }
            throw error;
        }
    }

    /**
     * Whether a category of this machine has an instance now (.NET: {@code InstanceExists}, with the
     * same order of arguments).
     *
     * @param instance the name of the instance
     * @param category the name of the category in any language, or its title index as text
     * @return whether it exists
     * @throws PerfhiveException if there is no such category, or the source fails
     */
    public static boolean instanceExists(String instance, String category) {
        return instanceExists(CounterDataSource.local(), instance, category);
    }

    /**
     * Whether a category of a source has an instance now.
     *
     * @param source the source
     * @param instance the name of the instance
     * @param category the name of the category in any language, or its title index as text
     * @return whether it exists
     * @throws PerfhiveException if there is no such category, or the source fails
     */
    public static boolean instanceExists(
            CounterDataSource source, String instance, String category) {
        try (Category found = of(source, category)) {
            return found.hasInstance(instance);
        }
    }

    /**
     * Whether a category of this machine has a counter (.NET: {@code CounterExists}, with the same
     * order of arguments).
     *
     * @param counter the name of the counter in any language, or its title index as text
     * @param category the name of the category in any language, or its title index as text
     * @return whether it exists
     * @throws PerfhiveException if there is no such category, or the source fails
     */
    public static boolean counterExists(String counter, String category) {
        return counterExists(CounterDataSource.local(), counter, category);
    }

    /**
     * Whether a category of a source has a counter.
     *
     * @param source the source
     * @param counter the name of the counter in any language, or its title index as text
     * @param category the name of the category in any language, or its title index as text
     * @return whether it exists
     * @throws PerfhiveException if there is no such category, or the source fails
     */
    public static boolean counterExists(CounterDataSource source, String counter, String category) {
        try (Category found = of(source, category)) {
            return found.hasCounter(counter);
        }
    }

    /**
     * The category's name.
     *
     * @return the name in the language that the source prefers
     */
    public String name() {
        return name;
    }

    /**
     * The title index of the name.
     *
     * @return the index
     */
    public int index() {
        return index;
    }

    /**
     * What the category is about.
     *
     * @return the help text; empty where the source has none
     */
    public String help() {
        return help;
    }

    /**
     * Whether the category can have instances.
     *
     * @return whether it can
     */
    public boolean hasInstances() {
        return hasInstances;
    }

    /**
     * The counters, without bases.
     *
     * @return their names, in the language that the source prefers
     */
    public List<String> counterNames() {
        return counterNames;
    }

    /**
     * The names of the present instances. If several have the same name, {@code #n} is behind the second
     * and each further one.
     *
     * @return the names; empty for a category without instances
     * @throws PerfhiveException if the source fails
     */
    public List<String> instanceNames() {
        return instances().stream().map(Instance::label).toList();
    }

    /**
     * The present instances, with the parts of their names.
     *
     * @return the instances; empty for a category without instances
     * @throws PerfhiveException if the source fails
     */
    public List<Instance> instances() {
        Message answer = object.request().send(Native.Op.CATEGORY_INSTANCES);
        return List.copyOf(answer.list(() -> new Instance(
                answer.text(), answer.optionalText(), answer.text(), answer.int32())));
    }

    /**
     * An instance of a category.
     *
     * @param label the text by which the instance is found, as in paths: {@code parent/name#n}
     * @param parent the name of the parent; empty for an instance without a parent
     * @param name the instance's own name
     * @param order the place among the instances with the same parent and name, from 0
     */
    public record Instance(String label, Optional<String> parent, String name, int order) {
        /** Refuses {@code null} for any part. */
        public Instance {
            Objects.requireNonNull(label);
            Objects.requireNonNull(parent);
            Objects.requireNonNull(name);
        }
    }

    /**
     * Whether an instance exists now.
     *
     * @param instance the name
     * @return whether it exists
     * @throws PerfhiveException if the source fails
     */
    public boolean hasInstance(String instance) {
        return object.request().bool(false).text(instance).send(Native.Op.CATEGORY_HAS).bool();
    }

    /**
     * Whether the category has a counter.
     *
     * @param counter the name in any language, or the title index as text
     * @return whether it has one
     */
    public boolean hasCounter(String counter) {
        return object.request().bool(true).text(counter).send(Native.Op.CATEGORY_HAS).bool();
    }

    /**
     * A reader of each counter of an instance (.NET: {@code GetCounters}).
     *
     * @param instance the name of the instance; empty for a category without instances
     * @return the counters, each of which is to be closed
     * @throws PerfhiveException if the name is empty for a category with instances, or not empty for a
     *     category without; an instance that is missing now is no failure
     */
    public List<PerformanceCounter> counters(String instance) {
        Message answer = object.request().text(instance).send(Native.Op.CATEGORY_COUNTERS);
        return List.copyOf(answer.list(() -> new PerformanceCounter(answer)));
    }

    /**
     * All data of the category in a new sample (.NET: {@code ReadCategory}), including counters that are
     * filled only on request.
     *
     * @return the data
     * @throws PerfhiveException if the source fails, or has no data of the category
     */
    public CategoryData read() {
        return new CategoryData(name, object.request().send(Native.Op.CATEGORY_READ));
    }

    @Override
    public void close() {
        object.close();
    }

    @Override
    public String toString() {
        return name;
    }
}

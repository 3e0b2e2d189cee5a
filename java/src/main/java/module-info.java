/** Performance counters and measurements for Java programs. */
module org.perfhive {
    requires static transitive java.management;
    requires static jdk.jfr;

    exports org.perfhive;
    exports org.perfhive.jfr;
    exports org.perfhive.jmx;

    uses org.perfhive.DataSource;

    provides org.perfhive.DataSource with
            org.perfhive.CounterDataSource;
}

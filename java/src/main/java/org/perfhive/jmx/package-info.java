/** Readings of sensors as attributes of MBeans, for JMX. */
package org.perfhive.jmx;

/* Offsets of the names in gauges.ini from First Counter and First Help. */
#define GAUGES 0
#define LEVEL 2
#define OPERATIONS 4

/* Offsets of the names in tanks.ini from First Counter and First Help. */
#define LINK 0
#define VALID 2
#define TANK 4
#define LEVEL 6

import fc from 'fast-check'

/**
 * Property tests of a whole run draw the same values each time, so that a red run is about the change at hand;
 * `PROPERTY_SEED=random` (or a number) looks for new ones. Loaded before each test file (scripts/test.ts).
 */
const { PROPERTY_SEED: seed = '20261121' } = process.env
if (seed !== 'random') fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(seed) })

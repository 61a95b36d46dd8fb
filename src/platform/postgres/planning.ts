/**
 * For statements that look up some rows among very many: tables are read by their indexes, whatever the statistics say. Right after
 * an import there are none, a statement that was planned while a table was empty keeps its plan, and a list that is sent is taken
 * for a hundred rows where it has one: for each of these reasons PostgreSQL would read a table of some thousand rows as a whole.
 */
const off = ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'] as const

/** For the transaction that has just begun. */
export const byIndexesLocally = off.map((name) => `set local ${name} = off`).join('; ')

/** For a connection, as options of its start. */
export const byIndexesAlways = off.map((name) => `-c ${name}=off`).join(' ')

/** For the session, as columns of a select: `on` for how others use the connection. */
export const byIndexes = (wanted: boolean): string =>
  off.map((name) => `set_config('${name}', '${wanted ? 'off' : 'on'}', false)`).join()

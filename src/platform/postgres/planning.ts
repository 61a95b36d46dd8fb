/**
 * For statements that look up some rows among very many: tables are read by their indexes, whatever the statistics say. Right after
 * an import there are no statistics, a statement that was planned while a table was empty keeps its plan, and a list parameter is
 * estimated at a hundred rows even if it has one: for each of these reasons PostgreSQL would read a table of some thousand rows as
 * a whole. As the plan is the same for all parameters, statements are planned once for each connection: planning two tables joined
 * by a list of ids takes longer than carrying it out.
 */
const settings = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
} as const

/** The defaults of PostgreSQL. */
const usual: Record<keyof typeof settings, string> = {
  enable_seqscan: 'on',
  enable_hashjoin: 'on',
  enable_mergejoin: 'on',
  plan_cache_mode: 'auto',
}

/** For the current transaction, at its beginning. */
export const byIndexesLocally = Object.entries(settings)
  .map(([name, value]) => `set local ${name} = ${value}`)
  .join('; ')

/** For a connection that also reads small tables as a whole, with joins; as options of its start. */
export const byIndexesAlways = `-c enable_seqscan=${settings.enable_seqscan} -c plan_cache_mode=${settings.plan_cache_mode}`

/** For the session, as columns of a select. */
export const byIndexes = (wanted: boolean): string =>
  Object.entries(wanted ? settings : usual)
    .map(([name, value]) => `set_config('${name}', '${value}', false)`)
    .join()

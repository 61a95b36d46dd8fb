import { eventGroups, eventTypes } from './types.ts'

/** The table of docs/events.md, one row for each type, by group. */
export function eventTypeTable(): string {
  const rows = eventGroups.flatMap((group) =>
    Object.entries(eventTypes)
      .filter(([, definition]) => definition.group === group)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { userLogged, alwaysUser, pollable, info, written }]) => {
        const user = alwaysUser ? 'always' : userLogged ? 'if enabled' : ''
        const keys = info.map((key) => `\`${key}\``).join(', ')
        return `| ${group} | \`${name}\` | ${written ? 'yes' : ''} | ${user} | ${pollable ? 'yes' : ''} | ${keys} |`
      }),
  )
  return ['| Group | Type | Written | User | Pollable | Keys of `info` |', '|---|---|---|---|---|---|', ...rows].join(
    '\n',
  )
}

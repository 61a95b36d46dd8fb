import { userTypes } from '../../people/model.ts'
import { inspectUsers } from '../../people/service.ts'
import { html } from '../../platform/values/html.ts'
import { inspectSessions } from '../../signin/service.ts'
import type { ConsolePage } from '../model.ts'
import { neighbours, notThere } from '../query.ts'
import { badge, filter, pager, table, yesNo } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'

/** All users: archived ones, guests and system users too. */
export function usersPage({ db }: Pick<PageDeps, 'db'>): ConsolePage {
  return {
    path: 'users',
    section: 'users',
    query: ['search', 'type', 'offset', 'limit'],
    members: ['Users'],
    async load({ query }) {
      const page = query.page()
      const found = await inspectUsers(db, { words: query.text('search'), type: query.text('type', 50), ...page })
      const rows = found.slice(0, page.limit)
      const around = neighbours(page, found.length)
      return {
        json: { Users: rows },
        title: ({ text }) => text('nav.users'),
        show: (view) => {
          const { text, when, link } = view
          return html`${filter(view, 'users/', [
            { name: 'search', label: text('users.search') },
            { name: 'type', label: text('type'), choices: userTypes.map((one) => [one, one] as const) },
          ])}<section>${table(
            view,
            text('users.caption'),
            [
              { label: text('id'), kind: 'number', value: ({ id }) => id },
              { label: text('users.login'), value: ({ login }) => login },
              { label: text('users.name'), value: ({ displayname }) => displayname },
              { label: text('users.email'), value: ({ email }) => email },
              { label: text('type'), value: ({ type }) => type },
              { label: text('users.groups'), value: ({ groups }) => groups.join(', ') },
              { label: text('users.rights'), value: ({ system_rights }) => system_rights.join(', ') },
              { label: text('users.factors'), kind: 'number', value: ({ second_factors }) => second_factors },
              {
                label: text('users.sessions'),
                kind: 'number',
                value: (row) =>
                  row.sessions === 0 ? '0' : html`<a href="${link('tokens/', { user: row.id })}">${row.sessions}</a>`,
              },
              { label: text('users.seen'), kind: 'time', value: ({ last_seen_at }) => when(last_seen_at) },
              {
                label: text('state'),
                value: (row) => badge(view, row.archived_at ? 'deleted' : row.login_disabled ? 'off' : 'on'),
              },
            ],
            rows,
          )}${pager(view, around, rows.length)}</section>`
        },
      }
    },
  }
}

type Session = Awaited<ReturnType<typeof inspectSessions>>[number]

/** Open sessions with the number of their tokens (own extension): no token is shown, since only hashes are stored. */
export function tokensPage({ db, sessions }: Pick<PageDeps, 'db' | 'sessions'>): ConsolePage {
  return {
    path: 'tokens',
    section: 'tokens',
    query: ['user', 'offset', 'limit'],
    members: ['Sessions'],
    async load({ query }) {
      const page = query.page()
      const found = await inspectSessions(db, { user: query.text('user'), ...page })
      const rows = found.slice(0, page.limit)
      return {
        json: { Sessions: rows },
        title: ({ text }) => text('nav.tokens'),
        show: (view) => {
          const { text, when, button } = view
          return html`${filter(view, 'tokens/', [{ name: 'user', label: text('tokens.user') }])}<section>${table<Session>(
            view,
            text('tokens.caption'),
            [
              { label: text('user'), value: (row) => row.user },
              { label: text('tokens.client'), value: (row) => row.client_id },
              {
                label: text('tokens.method'),
                value: (row) => [row.method, row.two_factor].filter(Boolean).join(' + '),
              },
              {
                label: text('tokens.tokens'),
                value: (row) => text('tokens.count', { access: row.access_tokens, refresh: row.refresh_tokens }),
              },
              { label: text('tokens.bound'), value: (row) => yesNo(view, row.bound) },
              {
                label: text('tokens.program'),
                kind: 'wide',
                value: (row) => [row.remote_addr, row.user_agent].filter(Boolean).join(', '),
              },
              { label: text('tokens.since'), kind: 'time', value: (row) => when(row.authenticated_at) },
              { label: text('tokens.used'), kind: 'time', value: (row) => when(row.last_used_at) },
              { label: text('tokens.expires'), kind: 'time', value: (row) => when(row.expires_at) },
              ...(view.acts
                ? [
                    {
                      label: text('actions'),
                      value: (row: Session) => button('end', text('tokens.end'), { id: row.id }, 'danger'),
                    },
                  ]
                : []),
            ],
            rows,
          )}${pager(view, neighbours(page, found.length), rows.length)}</section>`
        },
      }
    },
    actions: {
      async end({ actor }, form) {
        const id = form.get('id') ?? ''
        if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) throw notThere({ id })
        await sessions.endSession(id, actor.remoteAddr, 'administrator')
        return { said: 'done.session' }
      },
    },
  }
}

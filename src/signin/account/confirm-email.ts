import type { FastifyReply } from 'fastify'
import type { EventLog } from '../../events/service.ts'
import { users } from '../../people/service.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { html } from '../../platform/values/html.ts'
import { button } from '../pages/fields.ts'
import type { PageDefinition } from '../pages/routes.ts'
import type { Visit } from '../pages/service.ts'
import type { Sessions } from '../sessions/service.ts'
import { ownerOfToken, useToken } from './tokens.ts'

const name = 'confirmEmail'

export interface ConfirmDependencies {
  db: Db
  events: EventLog
  sessions: Sessions
  basePath: string
}

/**
 * The page behind the link of a mail: confirms that the address belongs to its user. A person has to press a button, since programs
 * also open links.
 */
export function confirmEmailPage({ db, events, sessions, basePath }: ConfirmDependencies): PageDefinition {
  function expired(visit: Visit): FastifyReply {
    const { text } = visit
    const content = html`<p>${text('confirmEmail.expired')}</p>`
    return visit.send({ title: text('link.expired.title'), problem: text('link.expired'), content, status: 400 })
  }

  return {
    name,
    writes: true,
    query: ['token'],
    async show(visit, query) {
      const secret = query.get('token')
      const id = secret === undefined ? null : await ownerOfToken(db, secret, 'email')
      const [user] = id === null ? [] : await users.findUsers(db, [id])
      if (!user) return expired(visit)
      const { text } = visit
      const form = visit.form(`/api/page/${name}`, button(text('confirmEmail.submit')), { token: secret })
      const content = html`<p>${text('confirmEmail.text', { email: user.email ?? '' })}</p>${form}`
      return visit.send({ title: text('confirmEmail.title'), content })
    },
    async submit(visit, form) {
      const secret = form.get('token')
      const confirmed = await db.transaction(async (tx) => {
        const id = secret === undefined ? null : await useToken(tx, secret, 'email')
        if (id === null) return false
        await users.confirmEmail(tx, id)
        const [user] = await users.findUsers(tx, [id])
        if (!user) return false
        const actor = await sessions.actorOfUser(id, visit.request.ip, tx)
        const info = { login: user.login, displayname: user.generatedDisplayname, reference: user.reference }
        const { version } = user
        await events.append(tx, [
          { type: 'USER_UPDATE', actor, basetype: 'user', objectId: id, objectVersion: version, info },
        ])
        await sessions.changed(tx, [id])
        return true
      })
      if (!confirmed) return expired(visit)
      const { text } = visit
      const content = html`<p>${text('confirmEmail.done')}</p><p><a class="button" href="${basePath}/">${text('page.home')}</a></p>`
      return visit.send({ title: text('confirmEmail.doneTitle'), content })
    },
  }
}

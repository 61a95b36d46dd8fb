import type { FastifyReply } from 'fastify'
import type { StoredUser } from '../../people/model.ts'
import { users } from '../../people/service.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { html, joined } from '../../platform/values/html.ts'
import { button } from '../pages/fields.ts'
import type { PageDefinition } from '../pages/routes.ts'
import type { Visit } from '../pages/service.ts'
import type { NewPasswords } from './new-password.ts'
import { ownerOfToken, useToken } from './tokens.ts'

const name = 'resetPassword'

export interface ResetDependencies {
  db: Db
  newPasswords: NewPasswords
  /** The path under which a proxy serves the service. */
  basePath: string
}

/**
 * The page behind the link of a mail: sets a new password, once. Opening the page does not use up the link, since programs open
 * links, too.
 */
export function resetPasswordPage({ db, newPasswords, basePath }: ResetDependencies): PageDefinition {
  async function userOf(secret: string | undefined): Promise<StoredUser | null> {
    const id = secret === undefined ? null : await ownerOfToken(db, secret, 'password')
    return id === null ? null : ((await users.findUsers(db, [id]))[0] ?? null)
  }

  function page(visit: Visit, secret: string, user: StoredUser, problem: string | null): FastifyReply {
    const { text } = visit
    const fields = newPasswords.fields(visit, user.login ?? user.email ?? '', { invalid: problem !== null })
    const form = visit.form(`/api/page/${name}`, joined([fields, button(text('password.submit'))]), { token: secret })
    const content = html`<p>${text('resetPassword.text', { name: user.generatedDisplayname })}</p>${form}`
    return visit.send({ title: text('resetPassword.title'), content, problem })
  }

  function expired(visit: Visit): FastifyReply {
    const { text } = visit
    const again = html`<p><a href="${basePath}/api/page/forgotPassword">${text('resetPassword.again')}</a></p>`
    return visit.send({ title: text('link.expired.title'), problem: text('link.expired'), content: again, status: 400 })
  }

  return {
    name,
    writes: true,
    query: ['token'],
    async show(visit, query) {
      const secret = query.get('token')
      const user = await userOf(secret)
      return user && secret !== undefined ? page(visit, secret, user, null) : expired(visit)
    },
    async submit(visit, form) {
      const secret = form.get('token')
      const user = await userOf(secret)
      if (!user || secret === undefined) return expired(visit)
      const checked = await newPasswords.check(visit, form, user.id)
      if ('problem' in checked) return page(visit, secret, user, checked.problem)
      const changed = await db.transaction(async (tx) => {
        const id = await useToken(tx, secret, 'password')
        if (id === null) return false
        await newPasswords.change(tx, id, checked.hash, visit.request.ip)
        // The link was sent to this address, so it is confirmed.
        await users.confirmEmail(tx, id)
        return true
      })
      if (!changed) return expired(visit)
      const { text } = visit
      const content = html`<p>${text('resetPassword.done')}</p><p><a class="button" href="${basePath}/">${text('page.home')}</a></p>`
      return visit.send({ title: text('resetPassword.doneTitle'), content })
    },
  }
}

import type { FastifyReply } from 'fastify'
import { passwordUserTypes, type StoredUser } from '../../people/model.ts'
import { users } from '../../people/service.ts'
import { AppError } from '../../platform/errors.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { html, joined } from '../../platform/values/html.ts'
import type { Login } from '../flows/login.ts'
import { loginPage } from '../flows/login-page.ts'
import type { LoginPart } from '../flows/part.ts'
import { button } from '../pages/fields.ts'
import type { Visit } from '../pages/service.ts'
import type { NewPasswords } from './new-password.ts'

const name = 'setPassword'

/** The step for users who have been told to set a new password (OAUTH-009). */
export function setPasswordPart({ db, newPasswords }: { db: Db; newPasswords: NewPasswords }): LoginPart {
  async function userOf({ userId }: Login): Promise<StoredUser> {
    const [user] = userId === null ? [] : await users.findUsers(db, [userId])
    if (!user) throw new AppError('PageExpired', { what: 'login' })
    return user
  }

  function page(visit: Visit, login: Login, user: StoredUser, problem: string | null): FastifyReply {
    const { text } = visit
    const fields = newPasswords.fields(visit, user.login ?? user.email ?? '', { invalid: problem !== null })
    const form = visit.form(`/api/page/${name}`, joined([fields, button(text('password.submit'))]), { flow: login.id })
    return visit.send({
      title: text('setPassword.title'),
      content: html`<p>${text('setPassword.text', { name: user.generatedDisplayname })}</p>${form}`,
      problem,
      formTargets: [login.redirectUri],
    })
  }

  return {
    step: {
      name,
      phase: 'account',
      async page(login) {
        return mustChange(await userOf(login)) ? name : null
      },
    },
    pages: (flows) => [
      loginPage(flows, {
        name,
        step: name,
        async show(visit, login) {
          const user = await userOf(login)
          if (mustChange(user)) return page(visit, login, user, null)
          return visit.reply.redirect(await flows.passed(login, name), 303)
        },
        async submit(visit, login, form) {
          const user = await userOf(login)
          // This page is only for users with this duty: others change it where they prove the old one.
          if (!mustChange(user)) return visit.reply.redirect(await flows.passed(login, name), 303)
          const checked = await newPasswords.check(visit, form, user.id)
          if ('problem' in checked) return page(visit, login, user, checked.problem)
          await db.transaction((tx) => newPasswords.change(tx, user.id, checked.hash, visit.request.ip))
          return visit.reply.redirect(await flows.passed(login, name), 303)
        },
      }),
    ],
  }
}

function mustChange(user: StoredUser): boolean {
  return user.requirePasswordChange && passwordUserTypes.includes(user.type)
}

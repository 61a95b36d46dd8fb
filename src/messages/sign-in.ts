import type { FastifyReply } from 'fastify'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Db } from '../platform/postgres/db.ts'
import { type Html, html, nothing } from '../platform/values/html.ts'
import { button, checkbox, type Login, type LoginPart, loginPage, type Visit } from '../signin/service.ts'
import { asks, type OwnMessage } from './model.ts'
import type { MessageService } from './service.ts'

const name = 'showMessage'

export interface SignInDependencies {
  db: Db
  messages: MessageService
  actorOfUser(userId: number, remoteAddr: string): Promise<Actor | null>
}

/** The step of users who have messages to read or to agree to before they go on (OAUTH-009). */
export function messagePart({ db, messages, actorOfUser }: SignInDependencies): LoginPart {
  async function pendingOf(login: Login): Promise<{ actor: Actor; pending: readonly OwnMessage[] }> {
    const actor = login.userId === null ? null : await actorOfUser(login.userId, login.remoteAddr)
    if (!actor) throw new AppError('PageExpired', { what: 'login' })
    const { userId, groupIds } = actor
    return { actor, pending: await messages.pending({ userId, groupIds, clientId: login.clientId }) }
  }

  function page(visit: Visit, login: Login, pending: readonly OwnMessage[], problem: string | null): FastifyReply {
    const { text } = visit
    const shown = pending.map((message) => section(visit, message))
    const again = pending.some(asks)
    const buttons = [
      button(text('message.go')),
      again
        ? html`<button class="second" name="decline" value="1" formnovalidate>${text('message.decline')}</button>`
        : nothing,
    ]
    const form = visit.form(`/api/page/${name}`, html`${shown}<div class="buttons">${buttons}</div>`, {
      flow: login.id,
    })
    const formTargets = [login.redirectUri]
    return visit.send({ title: text('message.title'), content: form, problem, formTargets })
  }

  return {
    step: {
      name,
      phase: 'notice',
      page: async (login) => ((await pendingOf(login)).pending.length > 0 ? name : null),
    },
    pages: (flows) => [
      loginPage(flows, {
        name,
        step: name,
        async show(visit, login) {
          const { pending } = await pendingOf(login)
          if (pending.length === 0) return visit.reply.redirect(await flows.passed(login, name), 303)
          return page(visit, login, pending, null)
        },
        async submit(visit, login, form) {
          const { text } = visit
          if (form.get('decline') === '1') {
            await flows.end(db, login)
            return visit.send({
              title: text('message.declined'),
              content: html`<p>${text('message.declinedText')}</p>`,
            })
          }
          const { actor, pending } = await pendingOf(login)
          // An agreement counts only for texts that were shown: not for another version, and not for a new message.
          const unseen = pending.filter(({ id, version }) => form.get(`version_${id}`) !== String(version))
          if (unseen.length > 0) return page(visit, login, pending, text('message.changed'))
          const open = pending.filter((message) => asks(message) && form.get(`agree_${message.id}`) !== '1')
          if (open.length > 0) return page(visit, login, pending, text('message.mustAgree'))
          await messages.confirmed(actor.userId, pending)
          return visit.reply.redirect(await flows.passed(login, name), 303)
        },
      }),
    ],
  }
}

function section({ localized }: Visit, message: OwnMessage): Html {
  const { id, version } = message
  const paragraphs = localized(message.message).split(/\n\s*\n/)
  const text = paragraphs.map((paragraph) => html`<p class="text">${paragraph.trim()}</p>`)
  const agree = asks(message) ? checkbox(`agree_${id}`, localized(message.confirmation), { required: true }) : ''
  return html`<section><h2>${localized(message.title)}</h2>${text}<input type="hidden" name="version_${id}" value="${version}">${agree}</section>`
}

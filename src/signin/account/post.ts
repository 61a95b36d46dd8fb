import type { BaseConfigService } from '../../config/service.ts'
import type { MailService } from '../../mail/service.ts'
import { passwordUserTypes } from '../../people/model.ts'
import { type AccountMails, type AccountUuids, type DueMail, users } from '../../people/service.ts'
import { badRequest } from '../../platform/errors.ts'
import { addresseeOf, type MailLetters, sendsMail } from './mails.ts'
import { issueTokens, lifetimes } from './tokens.ts'

export interface PostDependencies {
  baseConfig: BaseConfigService
  mail: MailService
  letters: MailLetters
  accountUuids: AccountUuids
}

export function createAccountPost({ baseConfig, mail, letters, accountUuids }: PostDependencies): AccountMails {
  return {
    async send(tx, due) {
      if (due.length === 0) return
      if (!sendsMail(baseConfig)) {
        const names = ['email.from', 'email_server.server_addr']
        throw badRequest('No mail can be sent: the base configuration has no mail server or no sender.', { names })
      }
      const of = (kind: DueMail['kind']) => due.filter((one) => one.kind === kind).map(({ userId }) => userId)
      const stored = new Map(
        (await users.findUsers(tx, [...new Set(due.map(({ userId }) => userId))])).map((user) => [user.id, user]),
      )
      const lacking = await users.lackPassword(tx, of('welcome'))
      const starters = [...lacking].filter((id) => passwordUserTypes.includes(stored.get(id)?.type ?? ''))
      const invited = of('welcome').filter((id) => stored.get(id)?.type === 'email')
      const uuids = await accountUuids.read(tx, invited)
      const secrets = {
        welcome: await issueTokens(tx, starters, 'password', lifetimes.welcome),
        confirm: await issueTokens(tx, of('confirm'), 'email', lifetimes.confirm),
      }
      const mails = due.flatMap(({ userId, kind }) => {
        const user = stored.get(userId)
        if (!user?.email) return []
        const uuid = kind === 'welcome' ? uuids.get(userId) : undefined
        if (uuid !== undefined) return [letters.write('access', addresseeOf(user, user.email), uuid)]
        return [letters.write(kind, addresseeOf(user, user.email), secrets[kind].get(userId) ?? null)]
      })
      await mail.send(tx, mails)
    },
  }
}

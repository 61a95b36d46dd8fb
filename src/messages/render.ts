import type { PrincipalNames } from '../people/service.ts'
import type { Message, OwnMessage } from './model.ts'
import type { MessageOutput, OwnMessageOutput } from './schema.ts'

/** A message for users who manage messages. */
export function renderMessage(message: Message, names: PrincipalNames): MessageOutput {
  return {
    _basetype: 'message',
    message: fieldsOf(message),
    _groups: (message.groupIds ?? []).map((id) => {
      const name = names.groups.get(id)
      const lookup = name?.reference ? { 'lookup:_id': { reference: name.reference } } : {}
      const displayname = name?.displayname ?? String(id)
      return { _basetype: 'group', group: { _id: id, ...lookup, _generated_displayname: displayname } }
    }),
    ...timesOf(message),
  }
}

/** A message for its readers: other recipients are not disclosed. */
export function renderOwnMessage(message: OwnMessage): OwnMessageOutput {
  return { _basetype: 'message', message: fieldsOf(message), _confirmed: message.confirmed, ...timesOf(message) }
}

function fieldsOf(message: Message) {
  return {
    _id: message.id,
    _version: message.version,
    ...(message.reference === null ? {} : { reference: message.reference }),
    title: message.title,
    message: message.message,
    confirmation: message.confirmation,
    ...(message.webfrontendType === null ? {} : { webfrontend_type: message.webfrontendType }),
    webfrontend_props: message.webfrontendProps,
    confirm_every_version: message.confirmEveryVersion,
    show_always: message.showAlways,
    client_ids: [...message.clientIds],
    start_time: momentOf(message.startTime),
    end_time: momentOf(message.endTime),
  }
}

function timesOf({ createdAt, updatedAt }: Message) {
  return { _created_at: createdAt.toISOString(), _updated_at: updatedAt.toISOString() }
}

function momentOf(date: Date | null): { value: string } | null {
  return date && { value: date.toISOString().replace('.000Z', 'Z') }
}

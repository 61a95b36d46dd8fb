-- Why something happened: the transitions that have led to an event, over any number of jobs and events.
alter table event add column cause jsonb, add column inert boolean not null default false;
comment on column event.cause is 'The transitions that have led to it, first one first: [{kind, id}]; null: somebody has asked for it.';
comment on column event.inert is 'Posted by somebody who may not see what it is about: it is kept, and starts no transition.';

-- Events know by themselves now whether an event transition has led to them.
drop table transition_event_skip;

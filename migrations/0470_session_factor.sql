-- The second factor that a sign-in has proved; null: none was asked for.
alter table oauth_session add column two_factor text;
